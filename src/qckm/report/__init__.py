"""What a person looks at: one HTML file that shows what was found. No script, no network, nothing beside it."""

from qckm.report.page import render

__all__ = ["render"]
