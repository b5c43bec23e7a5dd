"""Drift: how much many windows have changed, and where rows have come and gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qckm.drift.drift_result import Drift
from qckm.drift.plane import witness_map
from qckm.drift.windows import DriftSeries
from qckm.operator.arguments import as_count
from qckm.plots.axes import as_axes, draw_plane
from qckm.plots.inputs import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 12


def drift_effects(series: DriftSeries, ax: Axes | None = None) -> Axes:
    """Draw at least which share of each window's rows has changed, with two standard errors; drift in red.

    Parameters
    ----------
    series : DriftSeries
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, qckm, qckm.plots
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> hours = [op.sketch(rng.normal(size=(2000, 2)) + (hour > 7)) for hour in range(10)]
    >>> ax = qckm.plots.drift_effects(qckm.compare_windows(hours, op.sketch(rng.normal(size=(20_000, 2)))))
    >>> ax.get_ylabel()
    'rows that changed, at least (%)'
    """
    require(series, DriftSeries)
    ax = as_axes(ax)
    drifted, places = series.drifted, np.arange(len(series.drifts))
    least = series.drifts[0].min_effect
    if least > 0:
        ax.axhline(100 * least, color="0.6", lw=1, ls="--", label=f"smallest that counts, {least:.1%}")
    for which, color, label in ((~drifted, "tab:blue", "no drift"), (drifted, "tab:red", "drift")):
        if which.any():
            errors = 200 * series.effect_errors[which]
            ax.errorbar(places[which], 100 * series.effects[which], errors, fmt="o", ms=5, color=color, label=label)
    ax.set(ylabel="rows that changed, at least (%)")
    ax.set_ylim(bottom=0)
    if len(places) <= _MOST_NAMES:
        ax.set_xticks(places, series.names, rotation=30 if max(map(len, series.names)) > 3 else 0)
    else:
        ax.set_xlabel("window")
    ax.legend(fontsize=8)
    return ax


def witness(drift: Drift, ax: Axes | None = None, resolution: int = 200, colorbar: bool = True) -> Axes:
    """Draw where rows have come (red) and gone (blue), in two dimensions: the difference of the densities.

    Parameters
    ----------
    drift : Drift
        Of sketches of two features. Where it has an explanation, clusters are drawn as crosses, those that moved with
        an arrow, new ones as stars.
    ax : Axes, optional
    resolution : int, default 200
        Points along each side.
    colorbar : bool, default True

    Returns
    -------
    Axes
    """
    require(drift, Drift)
    label = "rows that came (red) and went (blue)" if colorbar else None
    names = drift.before.operator.feature_names
    ax = draw_plane(witness_map(drift, as_count("resolution", resolution)), ax, names, label)
    if drift.explanation is not None:
        from matplotlib.patheffects import withStroke

        outlined: dict[str, Any] = {"path_effects": [withStroke(linewidth=3, foreground="white")], "zorder": 3}
        centers = drift.explanation.centers
        ax.plot(*centers.T, "kx", ms=8, mew=2, **outlined)
        for number, center in enumerate(centers):
            ax.annotate(str(number), tuple(center), (6, 6), textcoords="offset points", **outlined)
        for cause in drift.explanation.causes:
            if cause.kind == "new" and cause.place is not None:
                ax.plot(*cause.place, "k*", ms=13, **outlined)
            if cause.kind == "move" and cause.place is not None and cause.cluster is not None:
                arrow = {"arrowstyle": "->", "lw": 2, "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", tuple(cause.place), tuple(centers[cause.cluster]), arrowprops=arrow, zorder=4)
    return ax
