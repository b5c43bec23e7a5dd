"""The sum of a Structured Streaming query: each batch is counted once, also when Spark runs it again after a crash."""

from __future__ import annotations

import os
from collections.abc import Sequence

from qckm import engines
from qckm.errors import CheckpointError
from qckm.sketch import Sketch, SketchOperator, checkpoints, files
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State
from qckm.sources.rows import OnBad

_BATCH = "spark batch"
_OPERATOR = "operator"


class StreamSketch:
    """Adds up the batches of a stream: `stream.writeStream.foreachBatch(StreamSketch(op, "sum.checkpoint"))`.

    Spark promises to run every batch at least once, in order, and to give a batch that it runs again the same number
    and the same rows. The sum and the number of the last batch in it are replaced together, in one file, atomically: a
    batch whose number is in the file already is passed over.

    Parameters
    ----------
    operator : SketchOperator
    path : path
        A file of the driver that outlives it: as lasting as the query's own checkpointLocation, and used with no other.
    columns : sequence of str, or str, optional
        As in `qckm.engines.sketch`; by default the operator's.
    on_bad : {"error", "skip"}
    """

    def __init__(
        self,
        operator: SketchOperator,
        path: str | os.PathLike[str],
        columns: Sequence[str] | str | None = None,
        on_bad: OnBad = "error",
    ) -> None:
        self._path, self._columns, self._on_bad = os.fspath(path), columns, on_bad
        self._batch, self._sketch = self._saved(operator)

    def _saved(self, operator: SketchOperator) -> tuple[int, Sketch]:
        """Return the number of the last batch in the file, and its sum."""
        found = checkpoints.load(self._path)
        if found is None:
            return -1, operator.empty()
        number = found.options.get(_BATCH)
        if type(number) is not int:
            raise CheckpointError(f"{self._path}: expected the checkpoint of a stream, got that of a run over files.")
        if found.state.sketch.operator != operator:
            raise CheckpointError(f"{self._path}: expected the sum of this operator, got that of another.")
        return number, found.state.sketch

    @property
    def sketch(self) -> Sketch:
        """The sum so far."""
        return self._sketch

    @property
    def batch(self) -> int:
        """The number of the last batch in the sum; −1 before the first."""
        return self._batch

    def __call__(self, batch: object, number: int) -> None:
        """Add a batch, unless it was added before."""
        if number <= self._batch:
            return
        operator = self._sketch.operator
        more = engines.sketch(operator, batch, self._columns, on_bad=self._on_bad, usual=operator.feature_names)
        total = self._sketch + more
        notes = {_BATCH: number, _OPERATOR: operator.fingerprint}
        # Drivers' disks may have no locks. That the file is as it was is then checked without one, a moment before.
        with files.updating(self._path, required=False) as replace:
            if self._saved(operator)[0] != self._batch:
                raise CheckpointError(
                    f"{self._path}: another stream has written to this file. Give each query a file of its own."
                )
            replace(checkpoints.dumps(Checkpoint(State(total), (), notes)))
        self._batch, self._sketch = number, total
