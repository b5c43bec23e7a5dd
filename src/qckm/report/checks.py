"""Is the clustering any good? What can be said from the sketch alone, and what a sample of the rows adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qckm.clustering.kmeans import kmeans
from qckm.common.arrays import Floats
from qckm.decoding.decode import POOR_FIT
from qckm.models import Model
from qckm.report.facts import amount, number, percent

# A share of a sketch that is well explained. Of a one-bit sketch of points, the harmonics that are modelled are 94 %.
_WELL = 0.9
# Squares of larger numbers are no float64, nor those of smaller ones than its inverse.
_FAR = 1e150

Grade = Literal["good", "fair", "poor"]
_ORDER: dict[Grade, int] = {"good": 0, "fair": 1, "poor": 2}


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, how it stands, and in words why."""

    grade: Grade
    title: str
    words: str


def check(model: Model, sample: Floats | None) -> list[Check]:
    """Look at everything that is known of a model; what is not known is left out."""
    facts = model.facts
    found = [_believed(facts), _explained(model), _inertia(facts), _clipped(facts), _skipped(facts), _sizes(model)]
    if sample is not None and len(sample) > 5 * len(model.centers):
        found.insert(0, _beside_kmeans(model, sample))
    return [one for one in found if one is not None]


def worst(checks: list[Check]) -> Grade:
    """Return the grade of the whole: that of its worst part."""
    return max((one.grade for one in checks), key=lambda grade: _ORDER[grade], default="fair")


def _beside_kmeans(model: Model, sample: Floats) -> Check | None:
    """Compare with k-means of the sample itself, which may keep rows: the rival where that is allowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = (sample - sample.mean(axis=0)) / model.units
        _, distances = model.nearest(sample)
    if not 1 / _FAR < np.abs(rows).max() < _FAR:
        return None  # squares that are no float64: k-means has no answer
    if len(np.unique(rows, axis=0)) <= len(model.centers):
        return None  # a centroid on each row: no error to compare with
    rival = kmeans(rows, np.ones(len(rows)), len(model.centers), 5, np.random.default_rng(0))
    with np.errstate(over="ignore"):
        ratio = float((distances**2).sum() / rival.inertia) if rival.inertia > 0 else 1.0
    if not np.isfinite(ratio):
        return None
    words = (
        f"On a sample of {len(sample):,} rows the centroids' squared error is {ratio:.3f} times that of k-means fitted "
        "to that very sample (best of 5)."
    )
    return Check(_graded(ratio, 1.06, 1.25), "Beside k-means", words)


def _believed(facts: dict[str, object]) -> Check | None:
    """Pass on what the decoder itself thinks; CL-OMPR has no opinion."""
    converged = facts.get("converged")
    if not isinstance(converged, (bool, np.bool_)):
        return None
    grade: Grade = "good" if converged else "poor"
    return Check(grade, "The decoder's verdict", "These centroids are to be believed." if converged else POOR_FIT)


def _explained(model: Model) -> Check | None:
    share = number(model.facts.get("explained"))
    if share is None:
        return None
    K = len(model.centers)
    words = f"{K} {'cluster explains' if K == 1 else 'clusters explain'} {share:.1%} of the sketch's energy."
    if share < _WELL:
        words += " More of them may explain more; or the clusters have another shape."
    return Check(_graded(1 - share, 1 - _WELL, 0.25), "Match with the sketch", words)


def _inertia(facts: dict[str, object]) -> Check | None:
    """Say how large the sum of squared distances is, and how certain that is."""
    total, error = number(facts.get("inertia_estimate")), number(facts.get("inertia_error"))
    if total is None or error is None or total <= 0 or error < 0:
        return None
    share = error / total
    words = f"About {total:.4g} over all rows, give or take {share:.1%} (a standard error), as the sketch tells it."
    return Check(_graded(share, 0.1, 0.5), "Sum of squared distances", words)


def _clipped(facts: dict[str, object]) -> Check | None:
    rows, clipped = amount(facts, "rows"), amount({"saturated": 0, **facts}, "saturated")
    if not rows or clipped is None:
        return None
    share = clipped / rows
    words = f"{clipped:,} rows ({share:.2g} of all) lie too far from the middle to be coded: clipped."
    return Check(_graded(share, 0.001, 0.05), "Outliers", words if share else "No row lies outside the coded range.")


def _skipped(facts: dict[str, object]) -> Check | None:
    rows, skipped = amount(facts, "rows"), amount(facts, "skipped")
    if rows is None or not skipped:
        return None
    share = skipped / (skipped + rows)
    words = f"{skipped:,} rows ({share:.2g} of all) held a null, a NaN or an infinity and were left out."
    return Check(_graded(share, 0.01, 0.2), "Bad rows", words)


def _sizes(model: Model) -> Check:
    least = float(np.min(model.weights))
    fair = 1 / len(model.weights)
    most = float(np.max(model.weights))
    words = f"The lightest cluster holds {percent(least, 2)} of the rows, the heaviest {percent(most)}."
    if least < fair / 50:
        words += " One so light may be a group of outliers, or a centroid too many."
    return Check("good" if least >= fair / 50 else "fair", "Sizes", words)


def _graded(value: float, good: float, fair: float) -> Grade:
    return "good" if value <= good else "fair" if value <= fair else "poor"
