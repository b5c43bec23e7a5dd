"""Sketch and SketchOperator: the sum, and what makes one of rows, in memory or batch by batch from a source."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from qckm import export
from qckm.common.arrays import Rows, Weights
from qckm.common.atomic import write_atomically
from qckm.errors import OperatorError, QckmError, RowsError, SourceError
from qckm.kernels.portable import Measurement, Summary
from qckm.kernels.sketcher import Sketcher, computing_on, count_bits
from qckm.kernels.threads import as_jobs
from qckm.operator import Operator
from qckm.operator.request import Dither
from qckm.sketch import sections
from qckm.sketch.columns import ColumnSums, unknown_bounds
from qckm.sketch.sums import Sums
from qckm.sources.rows import (
    OnBad,
    as_weights,
    chosen_rows,
    engine_of,
    open_held,
    raise_not_finite,
    require_on_bad,
)
from qckm.sources.source import BATCH_BYTES, Batch, Position, Source, is_read_in_batches, prefetch

log = logging.getLogger(__name__)
# How rows choose an operator is known to a package above (planning/), which `qckm` itself registers.
_planners: list[Callable[..., SketchOperator]] = []


def register_planner(planner: Callable[..., SketchOperator]) -> None:
    """Say who draws operators from a pilot: what takes the parameters of `SketchOperator.from_pilot`."""
    _planners[:] = [planner]


@dataclass(frozen=True, eq=False, repr=False)  # as sums have them
class Sketch(Sums):
    """The sum of the contributions of some rows, with what has to be known of them. Immutable; made by an operator.

    Parameters
    ----------
    operator : SketchOperator
    total : ndarray of int64 (float64 after real-valued weights), shape (M,)
        The sum, in units of the signature's table.
    count : int or float
        The rows seen: the sum of their weights.
    saturated : int or float
        Of these, the rows with a feature clipped to what the operator can code.
    bounds : pair of ndarray of shape (n,)
        Least and greatest value seen of each feature, before clipping; +inf and −inf where there were no rows; NaN
        where they are not known: of bits, and where rows that were forgotten may have set them. A file keeps them to
        256ths of a step, rounded outward.
    skipped : int
        Rows that were left out as bad, at the user's word: a note beside the sum.
    weighted : int or float
        Of the rows seen, those of which a weight said how often they count, as it counts them: a row may be much of
        the sum then.
    ledger : Ledger, optional
        Of a private sketch (`qckm.privacy.release`): the noise in it, and what was spent. Its bounds are public ranges.
    parts : Parts
        The names of the parts that were added up, where they had some: none of them is added twice.
    column_sums : ColumnSums, optional
        The sums of the columns, of their squares and of products of two, where they are known of all rows: of bits, of
        real weights and of private sketches they are not.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=3, n_frequencies=20, scale=1.0, random_state=0)
    >>> monday, tuesday = np.random.default_rng(0).normal(size=(2, 500, 3))
    >>> both = op.sketch(monday) + op.sketch(tuesday)
    >>> both == op.sketch(np.concatenate([monday, tuesday]))
    True
    >>> both - op.sketch(monday) == op.sketch(tuesday)
    True
    """

    operator: SketchOperator

    @classmethod
    def of(cls, operator: SketchOperator, found: Summary, weighted: bool) -> Sketch:
        """Return the sketch of what a pass over rows found, whether or not whole numbers said how often they count."""
        bounds, weight = (found.lower, found.upper), found.count if weighted else 0
        sums = None
        if found.count and found.codes is not None and found.squares is not None:  # of real weights they are not known
            sums = ColumnSums(found.codes, found.squares, found.products)
        return cls(operator, found.total, found.count, found.saturated, bounds, weighted=weight, column_sums=sums)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .qckm file, whole or not at all; `qckm.load` reads it back."""
        write_atomically(path, sections.dumps(self))


class SketchOperator(Operator):
    """What is measured of a row, and the sums of it.

    Build one with `from_pilot`, `draw`, `from_ranges`, `from_frequencies` or `from_seed`. Two operators are equal when
    they measure the same, as their fingerprints say, and decode alike: units and octaves are the same, too. Then, and
    only then, their sketches may be added. The parameters are those of `Operator`, which users seldom see: integer
    codes of frequencies and dither, steps, origin, signature, notes.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> sketch = op.sketch(X)
    >>> sketch.count, sketch.values().shape
    (1000, (100,))
    >>> op.pool(op.encode(X)) == sketch  # the bits of a sensor give the same sketch
    True
    """

    @classmethod
    def from_pilot(
        cls,
        X: object,
        n_clusters: int,
        standardize: bool = False,
        n_frequencies: int | None = None,
        law: Any = "auto",
        signature: Any = "one-bit",
        dither: Dither = "paired",
        octaves: int = 1,
        columns: Sequence[str | int] | None = None,
        random_state: Any = None,
    ) -> SketchOperator:
        """Draw an operator that suits some rows: a few thousand are looked at, and none is kept.

        This is what `qckm operator` does: with the same rows and seed it draws the same operator.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            Rows like those to come, wherever they are: whatever `sketch` takes.
        n_clusters : int
            K, for the scale and the number of frequencies. The sketches can be decoded with another K, too.
        standardize : bool, default False
            Whether each column counts in its own standard deviation.
        n_frequencies : int, optional
            m; 20nK by default: no rows are decoded with.
        law, signature, dither, octaves, random_state
            As those of `draw`. The scale of several octaves is the middle one.
        columns : sequence of str or int, optional
            The columns to measure, by name or position; all by default.

        Returns
        -------
        SketchOperator
            With a `RemarkWarning` where a column numbers or names rows, or outweighs all others.

        Examples
        --------
        >>> import numpy as np, qckm
        >>> X = np.random.default_rng(0).normal(size=(1000, 2)) * [1, 1000]
        >>> op = qckm.SketchOperator.from_pilot(X, n_clusters=3, standardize=True, random_state=0)
        >>> op.units.round(-1).tolist(), op.sketch(X).count
        ([0.0, 980.0], 1000)
        """
        (plan,) = _planners
        return plan(X, n_clusters, standardize, n_frequencies, law, signature, dither, octaves, columns, random_state)

    def empty(self) -> Sketch:
        """Return the sketch of no rows, where every sum starts; its file is how an operator travels."""
        return Sketch.zero(self)

    def sketch(
        self,
        X: object,
        sample_weight: object = None,
        n_jobs: int | None = None,
        device: str | None = None,
        part: str | None = None,
        columns: Sequence[str | int] | None = None,
        on_bad: OnBad = "error",
    ) -> Sketch:
        """Sketch rows X: (rows, n): the sum of their contributions, in one pass, a bounded number of rows at a time.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy (memmaps too), pandas, polars, pyarrow; float32, float64 or integers. Paths, polars lazy frames,
            DuckDB relations, Arrow datasets and readers, and what `qckm.open_source` gives are read in batches. Dask
            arrays, data frames and bags, Spark DataFrames and Ray datasets are sketched where they are, and so are
            arrays on a GPU: CuPy, PyTorch, JAX, cuDF.
        sample_weight : array-like of shape (rows,), optional
            Whole numbers count a row that often, exactly; other weights make the sum a float64 one, and slower. Rows
            that are read in batches count once each.
        n_jobs : int, optional
            How many threads; −1 for all cores. None, too, is all cores, but no more than OMP_NUM_THREADS or
            threadpoolctl allow. The result does not depend on it.
        device : {"auto", "cpu", "cuda", "cuda:1", …}, optional
            Where rows of this process are sketched: "cuda" copies them to a GPU. Rows with real weights are always
            summed by the CPU. The result does not depend on it.
        part : str, optional
            A name for these rows, such as "berlin/2026-11-16". A sum knows its parts: none is added twice, and none is
            taken out that is not there.
        columns : sequence of str or int, optional
            The columns to sketch, by name or position; by default those that the operator knows, or all.
        on_bad : {"error", "skip"}
            What to do with rows that hold a null, a NaN or an infinity: refuse, naming row and column, or leave them
            out and count them in `skipped`.

        Returns
        -------
        Sketch
        """
        require_on_bad(on_bad)
        if part is not None:
            return self.sketch(X, sample_weight, n_jobs, device, None, columns, on_bad).as_part(part)
        if device is not None:
            with computing_on(device):
                return self.sketch(X, sample_weight, n_jobs, None, None, columns, on_bad)
        if engine_of(X):
            held: Sketch = open_held(X, columns, self.feature_names, sample_weight).sketch(
                self, on_bad, as_jobs(n_jobs)
            )
            return held
        if is_read_in_batches(X):
            if sample_weight is not None:
                raise RowsError(
                    f"Expected rows in memory beside sample_weight, got {type(X).__name__}: rows that are read in "
                    "batches count once each."
                )
            source = self._opened(X, columns)
            total = last_state(self, source, State(self.empty()), on_bad, n_jobs).sketch
            log.info("sketched %d rows of %d tables, skipped %d", total.count, len(source.tables), total.skipped)
            return total
        rows = chosen_rows(X, self.feature_names, self.n_features, columns)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        found = self.sketcher.sum(rows, weights, as_jobs(n_jobs))
        if found.bad_row is not None:
            if on_bad == "skip":
                return self._sketch_finite(rows, weights, n_jobs)
            raise_not_finite(rows[found.bad_row :][:1], found.bad_row)
        return Sketch.of(self, found, weights is not None and weights.dtype == np.int64)

    def _sketch_finite(self, rows: Rows, weights: Weights | None, n_jobs: int | None) -> Sketch:
        """Sketch those of some rows that are finite, and count the others: a block at a time, as each is copied."""
        total = self.empty()
        height = max(1, BATCH_BYTES // (8 * self.n_features))
        for start in range(0, len(rows), height):
            block = rows[start : start + height]
            good = np.isfinite(block).all(axis=1)
            heavy = None if weights is None else weights[start : start + height][good]
            total += replace(self.sketch(block[good], heavy, n_jobs), skipped=int((~good).sum()))
        return total

    def _opened(self, data: object, columns: Sequence[str | int] | None) -> Source:
        from qckm.sources.opening import open_source  # it needs pyarrow, which takes its time

        if not isinstance(data, Source):
            return open_source(data, columns, usual=self.feature_names)
        if columns is not None:
            raise SourceError("Expected columns where the data are opened, qckm.open_source(data, columns), not here.")
        return data

    def encode(self, X: object, n_jobs: int | None = None) -> npt.NDArray[np.uint8]:
        """Encode rows X: (rows, n) as a sensor would: M bits per row, packed as uint8 (rows, ceil(M / 8)).

        Little bit first within a byte, 1 standing for a contribution of −1; bits beyond M are 0. Of rows on a GPU, the
        bits are a CuPy array there.
        """
        self._require_one_bit("encode")
        if engine_of(X) == "gpu":
            there: npt.NDArray[np.uint8] = open_held(X).encode(self)
            return there
        rows = chosen_rows(X, self.feature_names, self.n_features)
        bits = np.empty((len(rows), -(-self.n_measurements // 8)), np.uint8)
        bad_row = self.sketcher.on_cpu.encode(rows, bits, as_jobs(n_jobs))
        if bad_row is not None:
            raise_not_finite(rows[bad_row:][:1], bad_row)
        return bits

    def pool(self, bits: npt.ArrayLike, n_jobs: int | None = None) -> Sketch:
        """Sum the bits of rows, as `encode` packs them, to the sketch that the rows themselves would give.

        Bits say nothing of bounds, clipping or the sums of columns: the sketch knows none of them.
        """
        self._require_one_bit("pool")
        there = open_held(bits) if engine_of(bits) == "gpu" else None
        packed = np.asarray(bits) if there is None else there.array
        width = -(-self.n_measurements // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            raise RowsError(f"Expected bits as uint8 of shape (rows, {width}), got {packed.dtype} {packed.shape}.")
        ones = count_bits(packed, as_jobs(n_jobs)) if there is None else there.count_bits()
        spare = ones[self.n_measurements :]
        if spare.any():
            raise RowsError(
                f"Expected the last {len(spare)} bit(s) of a row to be 0, got a 1: bits of another operator?"
            )
        total = len(packed) - 2 * ones[: self.n_measurements]
        return Sketch(self, total, len(packed), 0, unknown_bounds(self.n_features)) if len(packed) else self.empty()

    export_c = export.export_c

    @property
    def measurement(self) -> Measurement:
        """What kernels know of the operator."""
        codes, table = self.codes, self.signature.table
        return Measurement(
            codes.frequency_codes, codes.dither_codes, self.steps, self.origin, table, self.paired, codes.octaves
        )

    @cached_property
    def sketcher(self) -> Sketcher:
        """What sketches rows in this process."""
        return Sketcher(self.measurement)

    def _require_one_bit(self, verb: str) -> None:
        if not self.signature.is_one_bit:
            raise OperatorError(
                f"Only the contributions of a one-bit signature are bits: cannot {verb} with {self.signature.name!r}. "
                "Use sketch, or draw the operator with signature='one-bit'."
            )


class Sample(Protocol):
    """What rows are added to beside the sum."""

    def added(self, rows: Rows) -> Self:
        """Return it with these rows (rows, n), but those that are not finite."""


@dataclass(frozen=True, eq=False)
class State:
    """A sum and where it has come to: one value, so that whoever stops between two batches has both or neither."""

    sketch: Sketch
    position: Position = field(default_factory=Position)
    bytes_done: int = 0
    sample: Sample | None = None  # of the rows of the sum, where one is wanted; it is in no checkpoint


def sketch_source(operator: SketchOperator, data: object, columns: Any = None, on_bad: OnBad = "error") -> Sketch:
    """Sketch rows wherever they are, in one pass and bounded memory; reading overlaps sketching.

    Parameters
    ----------
    operator : SketchOperator
    data : Source, or anything `qckm.open_source` opens
        Paths, globs and folders of Parquet, CSV, Arrow or NumPy files, frames, arrays, tensors. Dask collections, Spark
        DataFrames and Ray datasets are sketched where they are.
    columns : sequence of str or int, optional
        The columns to read, by name or position; by default those that the operator knows, or all.
    on_bad : {"error", "skip"}
        What to do with rows that hold a null, a NaN or an infinity: refuse, naming file, row and column, or leave them
        out and count them in `skipped`.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=20, scale=1.0, random_state=0)
    >>> sketch = qckm.sketch_source(op, np.array([[0.0, 1.0], [np.nan, 2.0]]), on_bad="skip")
    >>> sketch.count, sketch.skipped
    (1, 1)
    """
    if not engine_of(data) and not isinstance(data, Source):
        data, columns = operator._opened(data, columns), None
    return operator.sketch(data, columns=columns, on_bad=on_bad)


def sketch_batches(operator: SketchOperator, batches: Iterable[object]) -> Sketch:
    """Sketch any iterable of batches: arrays, Arrow record batches, data frames. Only one is held at a time.

    Parameters
    ----------
    operator : SketchOperator
    batches : iterable of array-like of shape (rows, n)
        Batches may be of any sizes, also empty; they do not change the result.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=20, scale=1.0, random_state=0)
    >>> stream = (np.random.default_rng(i).normal(size=(100, 2)) for i in range(5))
    >>> qckm.sketch_batches(op, stream).count
    500
    """
    total = operator.empty()
    for number, batch in enumerate(batches):
        try:
            total += operator.sketch(batch)
        except QckmError as error:
            raise error.within(f"Batch {number}") from error
    return total


def sketch_batch(
    operator: SketchOperator,
    batch: Batch,
    on_bad: OnBad,
    weights: Weights | None = None,
    n_jobs: int | None = None,
) -> Sketch:
    """Sketch one batch; a bad row is named by its file and place there."""
    try:
        return operator.sketch(batch.rows, weights, n_jobs, on_bad=on_bad)
    except RowsError:
        batch.require_finite()
        raise


def require_columns(operator: SketchOperator, source: Source) -> None:
    """Refuse a source whose columns are not the operator's."""
    names, expected = source.feature_names, operator.feature_names
    if source.n_features != operator.n_features or (names and expected and names != expected):
        wanted = f"{operator.n_features} columns" + (f" ({', '.join(expected[:12])})" if expected else "")
        raise SourceError(
            f"{source.tables[0].label}: expected {wanted}, as the operator has, got {source.n_features} "
            f"({', '.join(source.selection.names[:12])}). Choose them with columns=[…].",
            "columns",
            **({"columns": ",".join(expected)} if expected else {}),
        )


def states(
    operator: SketchOperator,
    source: Source,
    start: State,
    on_bad: OnBad = "error",
    tick: float | None = None,
    n_jobs: int | None = None,
) -> Iterator[State]:
    """Yield the state after each batch, from `start` on; with `tick`, also when no batch came for so many seconds."""
    require_columns(operator, source)
    state = start
    with closing(prefetch(source.batches(start.position), tick=tick)) as batches:
        for batch in batches:
            if batch is not None:
                total = state.sketch + sketch_batch(operator, batch, on_bad, None, n_jobs)
                sample = None if state.sample is None else state.sample.added(batch.rows)
                state = State(total, batch.after, batch.bytes_done, sample)
            yield state


def last_state(
    operator: SketchOperator, source: Source, start: State, on_bad: OnBad, n_jobs: int | None = None
) -> State:
    """Return the state after all batches of a source, if that is still as it was."""
    state = start
    for after in states(operator, source, start, on_bad, None, n_jobs):
        state = after
    source.require_unchanged()
    return state
