"""From data to a sketch, with progress, checkpoints, snapshots and Ctrl-C; or on a cluster, whose workers read them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from qckm.cli.console import Console, assumption_in_words, command_again
from qckm.cli.error_hints import remarks_in_words
from qckm.cli.inputs import Reading
from qckm.cli.progress import Progress, cluster_progress
from qckm.cli.sketch_io import load_operator
from qckm.cli.stopping import saving
from qckm.cli.summaries import data_bytes, operator_facts, say_of_size
from qckm.common import atomic
from qckm.decoding.task import require_room
from qckm.errors import CheckpointError, QckmError
from qckm.kernels.sketcher import computing_on
from qckm.planning.pilot import Pilot
from qckm.planning.plan import Plan, Planned, draw_operator, plan_decoding, require_rows, sampled
from qckm.planning.row_sample import RowSample
from qckm.planning.sampling import SampledRows
from qckm.sketch import Sketch, SketchOperator, checkpoints
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State, require_columns, states
from qckm.sources.rows import OnBad
from qckm.sources.source import Source
from qckm.sources.text import UNKNOWN

if TYPE_CHECKING:
    from qckm.engines import Cluster
    from qckm.engines.files import FileRows


@dataclass(frozen=True, eq=False)
class SketchTask:
    """What to sketch, and how."""

    data: tuple[str, ...]
    reading: Reading
    plan: Plan
    operator_file: str | None
    output: str | None  # the checkpoint lies beside it
    resume: bool = False
    checkpoint_every: float = 10.0
    device: str = "cpu"
    column_sums: bool = True
    bounds: bool = True
    engine: str | None = None

    def kept(self, sketch: Sketch) -> Sketch:
        """Return a sketch with what is to be written of it."""
        sketch = sketch if self.column_sums else sketch.without_column_sums()
        return sketch if self.bounds else sketch.without_bounds()

    @classmethod
    def of(
        cls, data: tuple[str, ...], n_clusters: int | None, output: str | None, options: dict[str, Any]
    ) -> SketchTask:
        """Return the task of what was given to a command with the options of operators, plans, data and runs."""
        planned = {field.name for field in fields(Plan)}
        plan = Plan(n_clusters=n_clusters, **{name: value for name, value in options.items() if name in planned})
        others = {name: value for name, value in options.items() if name not in planned}
        return cls(data=data, plan=plan, output=None if output == "-" else output, **others)


@dataclass(frozen=True, eq=False)
class Sketched:
    """A sketch, the source it is of, what the pilot tells a decoder if there was one, and the seconds of each part.

    `remarks` say what may be wrong with the columns, as the pilot sees them.
    """

    sketch: Sketch
    source: Source | FileRows
    hints: Pilot | None
    seconds: dict[str, float]
    remarks: tuple[str, ...] = ()

    @property
    def rereadable(self) -> Source | None:
        """The source, if its rows are here and can be read again."""
        found = self.source if isinstance(self.source, Source) else self.source.source
        return None if found is None or found.once else found


def open_data(task: SketchTask, console: Console) -> tuple[Source, SketchOperator | None]:
    """Open the data and the operator's file; the operator's columns are the default. Say what was assumed."""
    operator = load_operator(task.operator_file) if task.operator_file else None
    usual = None if operator is None else operator.feature_names
    return task.reading.open(task.data, console, usual), operator


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
    source, operator = open_data(task, console)
    if task.resume and (source.once or source.copied or task.output is None):
        raise click.UsageError("--resume needs files on this machine, which can be read again, and an output (-o).")
    if task.output is not None and not atomic.is_device(task.output):
        click.get_current_context().with_resource(checkpoints.running(task.output))
    lasting = not (source.once or source.copied) and task.output is not None and not atomic.is_device(task.output)
    path = checkpoints.path_of(task.output) if lasting and task.output is not None else None
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
    save = _saver(path, source, options, task)
    state = _run(task, console, start, source, save, every, snapshot)
    source.require_unchanged()
    if want_hints:
        require_rows(state.sketch.count, task.plan.n_clusters or 1)
    done = time.perf_counter()
    if save and want_hints and done - ready >= task.checkpoint_every:
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
    with connect(engine) as cluster, cluster_progress(console) as watch, cluster.watched(watch):
        yield cluster


def sketch_windows(
    operator: SketchOperator, windows: Sequence[str], on_bad: OnBad, engine: str | None, console: Console
) -> dict[str, Sketch]:
    """Sketch some data, each alone, with one operator."""
    found: dict[str, Sketch] = {}
    if engine is None:
        for window in windows:
            source = Reading().open([window], console, operator.feature_names)
            found[window] = operator.sketch(source, on_bad=on_bad)
        return found
    with cluster_for(windows, engine, console) as cluster:
        for window in windows:
            rows = Reading().open_on(cluster, [window], console, operator.feature_names)
            found[window] = rows.sketch(operator, on_bad)
    return found


def sketch_groups(task: SketchTask, by: Sequence[str], output: str, console: Console) -> tuple[int, int]:
    """Write a table of sketches, or a folder of them; return how many rows they are of, and how many were skipped."""
    from qckm.sketch import group_tables
    from qckm.sketch.grouping import GroupedSketches
    from qckm.sources.kept_columns import KeptColumns

    assert task.operator_file is not None, "groups have an operator to merge by"
    operator = load_operator(task.operator_file)
    if task.engine is None:
        source, _ = open_data(task, console)
        kept, groups = KeptColumns(source, by), GroupedSketches(operator, by)
        require_columns(operator, source)
        with groups.filling(task.reading.on_bad) as add:
            for batch in source.batches():
                add(kept.take(len(batch.rows)), batch)
        source.require_unchanged()
        group_tables.save(groups, output)
        return int(groups.sums.count.sum()), int(groups.skipped.sum())
    make_folder(output)
    with cluster_for(task.data, task.engine, console) as cluster:
        rows = task.reading.open_on(cluster, task.data, console, operator.feature_names)
        count, skipped = rows.sketch_by(operator, by, output, task.reading.on_bad)
    atomic.write_atomically(os.path.join(output, "_SUCCESS"), b"")
    return count, skipped


def make_folder(path: str) -> None:
    """Make a new folder for what workers write."""
    try:
        os.mkdir(path)
    except FileExistsError as error:
        raise click.UsageError(f"{path}: expected a new folder, got one that is there.") from error


def _planned(rows: Source | SampledRows, operator: SketchOperator | None, plan: Plan, want_hints: bool) -> Planned:
    if operator is None:
        return draw_operator(rows, plan, want_hints)
    return plan_decoding(rows, plan, operator) if want_hints and not rows.once else Planned(operator)


def _sketch_on_cluster(task: SketchTask, engine: str, console: Console, want_hints: bool) -> Sketched:
    if task.resume or task.device != "cpu":
        raise click.UsageError("--resume and --device are for data that this process reads: leave out --engine.")
    began = time.perf_counter()
    operator = load_operator(task.operator_file) if task.operator_file else None
    with cluster_for(task.data, engine, console) as cluster:
        usual = None if operator is None else operator.feature_names
        rows = task.reading.open_on(cluster, task.data, console, usual)
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
    saved = shot = time.monotonic()
    try:
        with computing_on(task.device), Progress(console, source.n_rows, source.n_bytes, start) as progress:
            tick = min(every, 0.5) if every else None
            for state in states(start.sketch.operator, source, start, task.reading.on_bad, tick):
                progress.update(state)
                now = time.monotonic()
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


def _saver(
    path: str | None, source: Source, options: dict[str, object], task: SketchTask
) -> Callable[[State], str] | None:
    if path is None:
        return None

    def save(state: State) -> str:
        kept = replace(state, sketch=task.kept(state.sketch))
        checkpoints.save(Checkpoint(kept, source.stamps, options), path)
        return path

    return save


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


def facts_of(sketched: Sketched, n_bytes: int | None) -> dict[str, object]:
    """Return what is worth knowing of a sketch that was just made."""
    sketch, operator = sketched.sketch, sketched.sketch.operator
    return {
        "rows": sketch.count,
        "skipped": sketch.skipped,
        "saturated": sketch.saturated,
        "inputs": sketched.source.labels[:100],
        "n_inputs": len(sketched.source.labels),
        "file_bytes": sketched.source.n_bytes,
        "data_bytes": data_bytes(sketch.count, operator),
        **({} if n_bytes is None else {"sketch_bytes": n_bytes}),
        **operator_facts(operator),
        "seconds": sketched.seconds,
        **remarks_fact(sketched.remarks, sketched.source),
    }


def remarks_fact(remarks: Sequence[str], source: Source | FileRows) -> dict[str, list[str]]:
    """Return what may be wrong, as a fact if anything is: with columns or centroids, or with how data were read."""
    said = [*remarks_in_words(remarks), *map(assumption_in_words, source.assumptions)]
    return {"remarks": said} if said else {}
