"""The paper's figures, measured: one file a figure, the long ones resumable (README.md)."""
