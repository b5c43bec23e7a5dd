"""The paper's figures, measured: one file a figure, each resumable (README.md)."""
