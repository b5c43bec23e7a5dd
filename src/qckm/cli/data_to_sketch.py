"""From data to a sketch, with progress, checkpoints, snapshots and Ctrl-C; or on a cluster, whose workers read them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from qckm.cli.console import Console, command_again
from qckm.cli.options import Reading
from qckm.cli.sketches import Sketched, load_operator, say_of_size
from qckm.cli.stopping import saving
from qckm.common import atomic
from qckm.common.text import format_bytes, format_duration
from qckm.decoding.task import require_room
from qckm.errors import CheckpointError, QckmError
from qckm.kernels.sketcher import computing_on
from qckm.planning.held_rows import HeldRows
from qckm.planning.plan import Plan, Planned, draw_operator, plan_decoding, require_rows, sampled
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator, checkpoints
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State, states
from qckm.sources.source import Source
from qckm.sources.text import UNKNOWN

if TYPE_CHECKING:
    from qckm.engines import Cluster


@dataclass(frozen=True, eq=False)
class SketchTask:
    """What to sketch, and how."""

    data: tuple[str, ...]
    reading: Reading
    plan: Plan
    operator_file: str | None = None
    output: str = "-"  # the checkpoint lies beside it
    resume: bool = False
    checkpoint_every: float = 10.0
    device: str = "cpu"
    column_sums: bool = True
    bounds: bool = True
    engine: str | None = None

    @property
    def checkpoint(self) -> str | None:
        """Where the checkpoint is, of an output that can have one."""
        return None if self.output == "-" or atomic.is_device(self.output) else checkpoints.path_of(self.output)

    def kept(self, sketch: Sketch) -> Sketch:
        """Return a sketch with what is to be written of it."""
        sketch = sketch if self.column_sums else sketch.without_column_sums()
        return sketch if self.bounds else sketch.without_bounds()


def sketch_data(
    task: SketchTask,
    console: Console,
    want_hints: bool = False,
    every: float | None = None,
    snapshot: Callable[[Sketch], None] | None = None,
) -> Sketched:
    """Sketch the data of a task. `snapshot(sketch)` is called every so many seconds, where that is asked for."""
    if task.engine is not None:
        if every:
            raise click.UsageError("--every is for data that this process reads: leave out --engine.")
        return _sketch_on_cluster(task, task.engine, console, want_hints)
    began = time.perf_counter()
    operator = load_operator(task.operator_file) if task.operator_file else None
    source = task.reading.open(task.data, console, None if operator is None else operator.feature_names)
    fleeting = source.once or source.copied
    if task.resume and (fleeting or task.output == "-"):
        raise click.UsageError("--resume needs files on this machine, which can be read again, and an output (-o).")
    path = None if fleeting else task.checkpoint
    if task.checkpoint:
        # Another run would replace the checkpoint, and in the end the output itself.
        alone = atomic.locked(task.output, patience=0, required=False, kind="run")
        click.get_current_context().with_resource(alone)
    options = _options(task, operator)
    start = _resumed(path, source, options, task.resume, console) if path else None
    if want_hints and source.n_rows is not None:
        require_rows(source.n_rows, task.plan.n_clusters or 1)
    if operator is None and start is not None and not want_hints:
        operator = start.sketch.operator
    planned = _planned(source, operator, task.plan, want_hints)
    for words in planned.words:
        console.say(words)
    if want_hints:
        require_room(planned.operator.n_features, planned.operator.n_frequencies // planned.operator.octaves)
    if start is None:
        say_of_size(planned.operator, source, want_hints, console)
        start = State(planned.operator.empty(), sample=planned.sample if want_hints else None)
    ready = time.perf_counter()

    def save(state: State) -> str:
        assert path is not None
        kept = replace(state, sketch=task.kept(state.sketch))
        checkpoints.save(Checkpoint(kept, source.stamps, options), path)
        return path

    state = _run(task, console, start, source, save if path else None, every, snapshot)
    source.require_unchanged()
    if want_hints:
        require_rows(state.sketch.count, task.plan.n_clusters or 1)
    done = time.perf_counter()
    if path and want_hints and done - ready >= task.checkpoint_every:
        save(state)  # decoding may be stopped, too: it need not cost another pass
    seconds = {"prepare": ready - began, "sketch": done - ready}
    hints = planned.hints
    if hints is not None and isinstance(state.sample, RowSample):  # a run that was resumed has none: the pilot will do
        hints = sampled(hints, state.sample)
    return Sketched(state.sketch, source, hints, seconds, planned.remarks)


@contextlib.contextmanager
def cluster_for(data: Sequence[str], engine: str, console: Console) -> Iterator[Cluster]:
    """Give the cluster of an engine; how far its tasks are is shown."""
    from qckm.engines import connect

    if "-" in data:
        raise click.UsageError("Standard input is here, not where the engine is: leave out --engine.")
    with connect(engine) as cluster, console.showing("cluster") as show:

        def watch(done: int, total: int) -> None:
            if total:
                show(lambda: f"{done:,} of {total:,} tasks done", done / total)

        with cluster.watched(watch):
            yield cluster


@contextlib.contextmanager
def new_folder(path: str) -> Iterator[None]:
    """Make a folder for what workers write inside; a file _SUCCESS appears in it when all is there."""
    try:
        os.mkdir(path)
    except FileExistsError as error:
        raise click.UsageError(f"{path}: expected a new folder, got one that is there.") from error
    yield
    atomic.write_atomically(os.path.join(path, "_SUCCESS"), b"")


def _planned(rows: Source | HeldRows, operator: SketchOperator | None, plan: Plan, want_hints: bool) -> Planned:
    if operator is None:
        return draw_operator(rows, plan, want_hints)
    return plan_decoding(rows, plan, operator) if want_hints and not rows.once else Planned(operator)


def _sketch_on_cluster(task: SketchTask, engine: str, console: Console, want_hints: bool) -> Sketched:
    if task.resume or task.device != "cpu":
        raise click.UsageError("--resume and --device are for data that this process reads: leave out --engine.")
    began = time.perf_counter()
    operator = load_operator(task.operator_file) if task.operator_file else None
    with cluster_for(task.data, engine, console) as cluster:
        names = None if operator is None else operator.feature_names
        rows = task.reading.open_on(cluster, task.data, console, names)
        ready = time.perf_counter()
        planned = _planned(rows, operator, task.plan, want_hints)
        for words in planned.words:
            console.say(words)
        hints, drawn = planned.hints, time.perf_counter()
        if want_hints and hints is not None and planned.sample is not None:
            sketch, sample = rows.sketch_and_sample(planned.operator, task.reading.on_bad, planned.sample)
            hints = sampled(hints, sample.standing_for(float(sketch.count)))
        else:
            sketch = rows.sketch(planned.operator, task.reading.on_bad)
        done = time.perf_counter()
    if want_hints:
        require_rows(sketch.count, task.plan.n_clusters or 1)
    seconds = {"start": ready - began, "prepare": drawn - ready, "sketch": done - drawn}
    return Sketched(sketch, rows, hints, seconds, planned.remarks)


def _run(
    task: SketchTask,
    console: Console,
    start: State,
    source: Source,
    save: Callable[[State], str] | None,
    every: float | None,
    snapshot: Callable[[Sketch], None] | None,
) -> State:
    state = start
    began = saved = shot = time.monotonic()
    try:
        with computing_on(task.device), console.showing("sketching") as show:
            tick = min(every, 0.5) if every else None
            for state in states(start.sketch.operator, source, start, task.reading.on_bad, tick):
                now = time.monotonic()
                show(partial(_how_far, state, start, source, now - began), _share(state, source))
                if save and now - saved >= task.checkpoint_every:
                    save(state)
                    saved = time.monotonic()
                if every and snapshot and now - shot >= every:
                    snapshot(state.sketch)
                    shot = now
    except KeyboardInterrupt:
        if save:
            with saving():
                path = save(state)
            console.say(f"stopped after {state.sketch.count:,} rows; {path} holds them.")
            console.say(f"continue with: {command_again()} --resume")
        raise
    return state


def _share(state: State, source: Source) -> float | None:
    return min(1.0, state.bytes_done / source.n_bytes) if source.n_bytes else None


def _how_far(state: State, start: State, source: Source, seconds: float) -> str:
    """Return how far a pass is: rows, bytes, rows a second, and the time left."""
    rows, before = (each.sketch.count + each.sketch.skipped for each in (state, start))
    of = "" if source.n_rows is None else f" of {source.n_rows:,}"
    seconds = max(seconds, 1e-9)
    words = f"{rows:,}{of} rows, {format_bytes(state.bytes_done)}, {(rows - before) / seconds:,.0f} rows/s"
    share = _share(state, source) or 0.0
    done = share - (_share(start, source) or 0.0)
    return words if done <= 0 else f"{words}, {format_duration(seconds * (1 - share) / done)} left"


def _resumed(path: str, source: Source, options: dict[str, object], resume: bool, console: Console) -> State | None:
    found = checkpoints.load(path) if resume else None
    if found is not None:
        checkpoints.require_same(found, source.stamps, options, path)
        if found.state.position.table >= len(source.tables):
            raise CheckpointError(f"{path}: expected a place within the inputs, got {found.state.position}. Remove it.")
        console.say(f"resuming after {found.state.sketch.count:,} rows")
        return found.state
    if not resume:
        try:
            left = checkpoints.load(path) is not None
        except QckmError:
            left = True
        if left:
            console.say(f"{path} is from an earlier run; starting over (--resume would continue it)")
    return None


def _options(task: SketchTask, operator: SketchOperator | None) -> dict[str, object]:
    """Return what must be the same for a run to be continued, as JSON gives it back."""
    reading = task.reading
    return {
        "columns": None if reading.columns is None else list(reading.columns),
        "header": reading.text.header,
        # What is as it was before it could be said is not said: older checkpoints go on.
        **{name: value for name, value in asdict(reading.text).items() if value != getattr(UNKNOWN, name)},
        **{name: False for name in ("column_sums", "bounds") if not getattr(task, name)},
        "dtype": reading.dtype,
        "on_bad": reading.on_bad,
        "operator": None if operator is None else operator.fingerprint,
        **({name: value for name, value in asdict(task.plan).items() if name != "alone"} if operator is None else {}),
    }
