"""Is the clustering any good? What can be said from the sketch alone, and what a sample of the rows adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qckm.clustering.centroids import kmeans
from qckm.common.arrays import Floats
from qckm.common.text import excess_in_words, shortened
from qckm.decoding.verdict.remarks import POOR_FIT
from qckm.models import Model
from qckm.report.html import FAR, amount, count, number, percent

# A share of a sketch that is well explained. Of a one-bit sketch of points, the harmonics that are modelled are 94 %.
_WELL = 0.9
# Centroids nearer to each other than this share of what the furthest are apart are in one place.
_APART = 1e-6
# A file may hold any number of remarks, of any length.
_MOST_REMARKS, _LONGEST = 20, 500
_VERDICT = "The decoder's verdict"

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
    compared = None
    if sample is not None and len(sample) > 5 * len(model.centers):
        compared = _beside_kmeans(model, sample)
    found = [
        _inertia(facts),
        compared,
        _believed(facts, compared is not None),
        *_remarks(facts),
        _identical(sample),
        _coincident(model),
        _explained(model),
        _clipped(facts),
        _skipped(facts),
        _sizes(model),
    ]
    return [one for one in found if one is not None]


def worst(checks: list[Check]) -> Grade:
    """Return the grade of the whole: that of its worst part."""
    return max((one.grade for one in checks), key=lambda grade: _ORDER[grade], default="fair")


def _beside_kmeans(model: Model, sample: Floats) -> Check | None:
    """Compare with k-means of the sample itself, which may keep rows: the rival where that is allowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = (sample - sample.mean(axis=0)) / model.units
        _, distances = model.nearest(sample)
    if not 1 / FAR < np.abs(rows).max() < FAR:
        return None  # squares that are no float64: k-means has no answer
    if len(np.unique(rows, axis=0)) <= len(model.centers):
        return None  # a centroid on each row: no error to compare with
    rival = kmeans(rows, np.ones(len(rows)), len(model.centers), 5, np.random.default_rng(0))
    with np.errstate(over="ignore"):
        ratio = float((distances**2).sum() / rival.inertia) if rival.inertia > 0 else 1.0
    if not np.isfinite(ratio):
        return None
    more = ratio - 1
    # The best of 5 runs may be worse than these centroids: a ratio below 1 says nothing but that.
    words = f"On a sample of {len(sample):,} rows, k-means of these rows themselves (best of 5 runs) finds " + (
        "nothing better."
        if more < 0.0005
        else f"centroids whose squared error is smaller: ours is {more:.1%} above it."
    )
    return Check(_graded(ratio, 1.06, 1.25), "Beside k-means", words)


def _believed(facts: dict[str, object], compared: bool) -> Check | None:
    """Pass on what the decoder itself thinks; CL-OMPR has no opinion, and a model in CSV does not tell."""
    converged = facts.get("converged")
    if isinstance(converged, (bool, np.bool_)):
        grade: Grade = "good" if converged else "poor"
        excess, high = facts.get("excess"), facts.get("excess_high")
        known = (
            isinstance(excess, (int, float)) and isinstance(high, (int, float)) and np.isfinite([excess, high]).all()
        )
        words = f"{excess_in_words(float(excess), float(high))}." if known else "These centroids are reliable."  # type: ignore[arg-type]
        return Check(grade, _VERDICT, words if converged else f"{POOR_FIT} {words if known else ''}".strip())
    if compared:
        return None
    words = "None is known of this model. A report with some rows compares them with it."
    return Check("fair", _VERDICT, words)


def _remarks(facts: dict[str, object]) -> list[Check]:
    """Pass on what was odd about the rows, or about the centroids; the decoder's reasons for a poor verdict, too."""
    found = facts.get("remarks")
    said = [remark for remark in found if isinstance(remark, str)] if isinstance(found, list) else []
    return [Check("fair", "To look at", shortened(remark, _LONGEST)) for remark in said[:_MOST_REMARKS]]


def _identical(sample: Floats | None) -> Check | None:
    if sample is None or len(sample) < 2 or (sample != sample[0]).any():
        return None
    words = f"All {len(sample):,} rows of the sample are the same: there is nothing to cluster."
    return Check("poor", "Rows", words)


def _coincident(model: Model) -> Check | None:
    """Tell of centroids in one place, in a file of any origin: to a millionth of what they are apart altogether."""
    with np.errstate(over="ignore", invalid="ignore"):
        places = (model.centers - model.centers.min(axis=0)) / model.units
        extent = float(places.max())
        places = np.rint(places / (_APART * extent)) if 0 < extent < np.inf else np.zeros_like(places)
    distinct, k = len(np.unique(places, axis=0)), len(places)
    if distinct == k:
        return None
    words = f"{k} centroids are in {distinct} place{'s' * (distinct != 1)}: choose a smaller K."
    return Check("poor", "Coincident centroids", words)


def _explained(model: Model) -> Check | None:
    share = number(model.facts.get("explained"))
    if share is None:
        return None
    K = len(model.centers)
    words = f"{K} {'cluster explains' if K == 1 else 'clusters explain'} {max(share, 0.0):.1%} of the sketch's energy."
    if share < _WELL:
        words += " More of them may explain more; or the clusters have another shape."
    return Check(_graded(1 - share, 1 - _WELL, 0.25), "Match with the sketch", words)


def _inertia(facts: dict[str, object]) -> Check | None:
    """Say how large the sum of squared distances is, and how certain that is."""
    total, error = number(facts.get("inertia_estimate")), number(facts.get("inertia_error"))
    if total is None or error is None or error < 0 or not total > 2 * error:  # less is no figure
        return None
    share = error / total
    # 95 % of a normal distribution lie within 1.96 standard errors.
    low, high = max(0.0, total - 1.96 * error), total + 1.96 * error
    words = f"{total:.4g} over all rows, estimated from the sketch; 95 % interval: {low:.4g} to {high:.4g}."
    return Check(_graded(share, 0.1, 0.5), "Sum of squared distances", words)


def _clipped(facts: dict[str, object]) -> Check | None:
    rows, clipped = amount(facts, "rows"), amount({"saturated": 0, **facts}, "saturated")
    if not rows or clipped is None:
        return None
    share = clipped / rows
    lie = "1 row lies" if clipped == 1 else f"{count(clipped)} rows lie"
    words = (
        f"{lie} too far from the others to be coded, {share:.2g} of all, and count as if at the edge. If they matter, "
        "take the logarithm of columns with long tails, or sketch again with a larger scale."
    )
    return Check(_graded(share, 0, 0.05), "Outliers", words if share else "No row lies outside the coded range.")


def _skipped(facts: dict[str, object]) -> Check | None:
    rows, skipped = amount(facts, "rows"), amount(facts, "skipped")
    if rows is None or not skipped:
        return None
    share = skipped / (skipped + rows)
    words = f"{skipped:,} rows ({percent(share, 2)} of all) held a null, a NaN or an infinity and were skipped."
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
