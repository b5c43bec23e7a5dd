"""A model, a drift or a choice of K goes in, one HTML page comes out: no script, no network, nothing beside it."""

from qckm.report.choice_page import render_choice
from qckm.report.drift_page import render_drift
from qckm.report.page import render

__all__ = ["render", "render_choice", "render_drift"]
