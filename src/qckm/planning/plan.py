"""From rows and a few wishes to an operator: what the command line and the estimator share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qckm.common.arrays import Floats, sha256
from qckm.common.random import as_seed, spawn
from qckm.errors import DecodeError, OperatorError, QckmError, RemarkWarning, warn
from qckm.operator import signatures
from qckm.operator.drawing import require_drawable
from qckm.operator.request import Dither, as_count, choose_n_frequencies
from qckm.planning.column_checks import doubts_of_rows
from qckm.planning.held_rows import HeldRows, draw_pilot
from qckm.planning.pilot import PILOT_ROWS, ROWS_PER_CLUSTER, Pilot, Settings, choose_law, choose_settings
from qckm.planning.row_sample import RowSample
from qckm.sketch import SketchOperator
from qckm.sources.rows import engine_of, open_held
from qckm.sources.source import Source

log = logging.getLogger(__name__)
# So few clusters are found in seconds, whatever the rows.
_QUICK = 100


@dataclass(frozen=True)
class Plan:
    """What was asked for; None where it is left to the pilot.

    Parameters
    ----------
    n_clusters : int, optional
        K: needed for the scale and for m, unless both are given.
    n_frequencies : int, optional
        m.
    scale : float, optional
        In data units, or in standard deviations if standardised.
    octaves : int
        At how many scales, a factor 2 apart, to measure: `scale` is the finest, the pilot's is the middle one.
    law : str or Law
    signature : str, Signature or callable
    dither : {"paired", "single"}
    standardize : bool
        Whether each column counts in its own standard deviation, as the pilot sees it.
    seed : int
    alone : bool
        Whether no rows will be at hand when the sketch is decoded: then m is larger.
    """

    n_clusters: int | None = None
    n_frequencies: int | None = None
    scale: float | None = None
    law: Any = "auto"
    signature: Any = "one-bit"
    dither: Dither = "paired"
    standardize: bool = False
    seed: int = 0
    octaves: int = 1
    alone: bool = False

    @property
    def pilot_rows(self) -> int:
        """How many rows the pilot has, where there are as many."""
        return max(PILOT_ROWS, ROWS_PER_CLUSTER * (self.n_clusters or 0))

    @property
    def decoder_seed(self) -> int:
        """The decoder's seed: independent of the pilot's and the operator's."""
        return int(spawn(self.seed, 3)[2].integers(2**63))


@dataclass(frozen=True, eq=False)
class Planned:
    """An operator, what the pilot tells a decoder (if there was a pilot), and words to the user.

    `sample`, of no rows yet, is what a pass fills for the decoder (`sampled`), by leverage around the pilot. `words`
    say what was done, `remarks` what may be wrong with the columns.
    """

    operator: SketchOperator
    hints: Pilot | None = None
    sample: RowSample | None = None
    words: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def operator_from_pilot(
    X: object,
    n_clusters: int,
    standardize: bool,
    n_frequencies: int | None,
    law: Any,
    signature: Any,
    dither: Dither,
    octaves: int,
    columns: Sequence[str | int] | None,
    random_state: Any,
) -> SketchOperator:
    """Do what `SketchOperator.from_pilot` says."""
    K = as_count("n_clusters", n_clusters)
    plan = Plan(K, n_frequencies, None, law, signature, dither, bool(standardize), as_seed(random_state), octaves, True)
    if engine_of(X):
        planned = draw_operator(open_held(X, columns), plan)
    else:
        from qckm.sources.opening import open_source  # it needs pyarrow, which takes its time

        if isinstance(X, Source) and columns is not None:
            raise OperatorError("Expected columns where the data are opened: qckm.open_source(data, columns).")
        planned = draw_operator(X if isinstance(X, Source) else open_source(X, columns), plan)
    if planned.remarks:
        warn(" ".join(planned.remarks), RemarkWarning)
    return planned.operator


def require_rows(rows: float, n_clusters: int) -> None:
    """Refuse to look for more clusters than rows have; or, where that takes long, for clusters of one row each."""
    if n_clusters > rows:
        raise DecodeError(f"Expected n_clusters <= the {rows} row(s) read, got {n_clusters}: choose a smaller K.")
    if n_clusters > max(_QUICK, rows / 2):
        raise DecodeError(
            f"Expected two rows per cluster or more, got {n_clusters:,} clusters of {rows:,} rows: a cluster of one "
            "row is the row itself. Choose a smaller K."
        )


def draw_operator(
    rows: Source | HeldRows, plan: Plan, want_hints: bool = False, of_all: bool = True, refuse_few: bool = True
) -> Planned:
    """Draw the operator; look at a pilot only where a wish was left open, or what it tells a decoder is wanted.

    With scale and m given, and no standardising, no row is read and phases count from 0: the same wishes give the same
    operator everywhere. Where it is drawn from a pilot, the pilot's rows are part of the dice. Two data sets of one
    seed then never give operators whose sketches add up: else that would be luck, of scales and origins that are
    rounded to the same.

    Parameters
    ----------
    rows : Source or HeldRows
    plan : Plan
    want_hints : bool
        Whether a decoder wants to hear of the pilot.
    of_all : bool
        Whether these are all rows, and not the first ones.
    refuse_few : bool
        Whether fewer rows than clusters are refused, where they will be decoded.

    Examples
    --------
    >>> import numpy as np
    >>> from qckm.sources.opening import open_source
    >>> rows = np.random.default_rng(0).normal(size=(1000, 2)) * [1, 1000]
    >>> planned = draw_operator(open_source(rows), Plan(n_clusters=3, standardize=True))
    >>> planned.operator.units.round(-1).tolist(), planned.operator.n_frequencies
    ([0.0, 980.0], 100)
    """
    n, n_clusters = rows.n_features, plan.n_clusters
    names = rows.feature_names or tuple(map(str, range(n)))
    if n_clusters is None and (plan.scale is None or plan.n_frequencies is None):
        raise OperatorError("Expected n_clusters, or both scale and n_frequencies, got neither.")
    for_pilot, for_operator, _ = spawn(plan.seed, 3)
    units, origin, extent, scale, pilot = np.ones(n), np.zeros(n), None, plan.scale, None
    m = plan.n_frequencies or choose_n_frequencies(n, n_clusters or 1, plan.alone)
    signature = signatures.get(plan.signature)
    require_drawable(n, m)  # before rows are looked at: a K that cannot be meant ends here
    law, radians = choose_law(n, n_clusters or 1, m, signature, plan.law, of_all and not rows.once)
    words: list[str] = []
    remarks: tuple[str, ...] = ()
    if plan.scale is None or plan.standardize or want_hints:
        pilot = draw_pilot(rows, for_pilot, plan.pilot_rows)
        drawn = int(pilot.weights.sum())
        if want_hints and refuse_few and drawn < plan.pilot_rows:  # these are all rows there are
            require_rows(drawn, n_clusters or 1)
        if plan.standardize:
            units = pilot.units()
            constant = [name for name, unit in zip(names, units, strict=True) if unit == 0]
            units[units == 0] = 1.0
            if constant:
                words.append(f"constant in the pilot, left as they are: {', '.join(constant)}")
        remarks = doubts_of_rows(pilot.rows, pilot.weights, units, names)
        settings = choose_settings(pilot, n_clusters or 1, for_pilot, radians, units)
        scale = plan.scale or float(np.ldexp(settings.scale, -(plan.octaves // 2)))
        origin, extent = settings.origin, settings.extent
        if rows.once:
            words.append(
                f"the scale is that of the first {drawn} rows of the pipe: if the others differ, give an operator or a "
                "scale"
            )
    operator = SketchOperator.draw(
        n_features=n,
        n_frequencies=m,
        scale=float(scale or 1.0),
        law=law,
        signature=signature,
        dither=plan.dither,
        origin=origin,
        units=units,
        random_state=for_operator if pilot is None else _mixed_with(for_operator, pilot.rows, pilot.weights),
        feature_names=rows.feature_names,
        octaves=plan.octaves,
        extent=extent,
    )
    log.info("operator: %d columns, %d frequencies, scale %.4g, law %s", n, m, operator.scale, operator.law)
    if pilot is None or not n_clusters:
        return Planned(operator, None, None, tuple(words), remarks)
    return _with_hints(operator, pilot, settings, plan, tuple(words), remarks)


def _mixed_with(rng: np.random.Generator, *arrays: Floats) -> np.random.Generator:
    """Return a generator that depends on another and on every bit of some arrays."""
    digest = sha256()
    for array in arrays:
        digest.update(f"{array.shape}".encode() + (array + 0.0).astype("<f8").tobytes())  # -0.0 and 0.0 are one
    words = np.frombuffer(digest.digest(), "<u4")
    own = rng.integers(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([*own.tolist(), *words.tolist()]))


def plan_decoding(source: Source | HeldRows, plan: Plan, operator: SketchOperator) -> Planned:
    """Draw a pilot for a decoder alone: the operator was made elsewhere."""
    for_pilot, _, _ = spawn(plan.seed, 3)
    pilot = draw_pilot(source, for_pilot, plan.pilot_rows)
    settings = choose_settings(pilot, plan.n_clusters or 1, for_pilot, units=operator.units)
    return _with_hints(operator, pilot, settings, plan)


def _with_hints(
    operator: SketchOperator,
    pilot: Pilot,
    settings: Settings,
    plan: Plan,
    words: tuple[str, ...] = (),
    remarks: tuple[str, ...] = (),
) -> Planned:
    hints = replace(pilot, centers=settings.centers, spread=settings.spread)
    seed = int(spawn(plan.seed, 4)[3].integers(2**63))
    empty = RowSample.empty(operator.n_features, seed, plan.pilot_rows, pilot, operator.units)
    return Planned(operator, hints, empty, words, remarks)


def sampled(hints: Pilot, sample: RowSample) -> Pilot:
    """Return what a pilot tells with the rows that a pass has sampled in place of the pilot's."""
    try:
        pilot = sample.pilot()
    except QckmError:  # a row whose square is no number: the sketch has clipped it, and said so
        return hints.without_rows()
    return replace(hints, rows=pilot.rows, weights=pilot.weights, of_all=True)
