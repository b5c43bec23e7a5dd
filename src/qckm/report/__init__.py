"""A model goes in, one HTML page comes out: no script, no network, nothing beside it."""

from qckm.report.page import render

__all__ = ["render"]
