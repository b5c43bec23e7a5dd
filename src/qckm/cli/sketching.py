"""What `sketch` and `fit` share: from a source to a sketch, with progress, checkpoints, snapshots and Ctrl-C."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from qckm.cli.messages import Talk, say_assumptions
from qckm.cli.progress import Progress
from qckm.cli.writing import updating, write_bytes
from qckm.common import atomic, foreign_files
from qckm.common.text import format_bytes
from qckm.decoding.decode import Hints
from qckm.decoding.room import require_room
from qckm.errors import CheckpointError, DecodeError, QckmError
from qckm.planning.plan import Plan, Planned, draw_operator
from qckm.planning.scale import PILOT_ROWS
from qckm.sketch import Sketch, SketchOperator, checkpoints, files
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.runs import OnBad, State, states
from qckm.sources.opening import open_source
from qckm.sources.source import Source


@dataclass(frozen=True, eq=False)
class Job:
    """What to sketch, and how."""

    data: tuple[str, ...]
    columns: tuple[str, ...] | None
    header: bool | None
    dtype: str
    on_bad: OnBad
    plan: Plan
    operator_file: str | None
    output: str | None  # the checkpoint lies beside it
    resume: bool
    checkpoint_every: float


@dataclass(frozen=True, eq=False)
class Sketched:
    """A sketch, the source it is of, what the pilot tells a decoder if there was one, and the seconds of each part."""

    sketch: Sketch
    source: Source
    hints: Hints | None
    seconds: dict[str, float]


def load_operator(path: str) -> SketchOperator:
    """Return the operator of a .qckm file."""
    return read_sketch(path).operator


def read_sketch(path: str) -> Sketch:
    """Read a sketch file, or standard input for "-"."""
    return parse_sketch(sys.stdin.buffer.read(), "standard input") if path == "-" else files.load(path)


def parse_sketch(data: bytes, label: str) -> Sketch:
    """Read a sketch from bytes; errors say whose they are."""
    with foreign_files.reading(label):
        return files.loads(data)


def open_job(job: Job, talk: Talk) -> tuple[Source, SketchOperator | None]:
    """Open the data and the operator's file; the operator's columns are the default. Say what was assumed."""
    operator = load_operator(job.operator_file) if job.operator_file else None
    usual = operator.feature_names if operator is not None else None
    source = open_source(list(job.data), job.columns, job.dtype, usual, job.header)
    say_assumptions(source, talk)
    return source, operator


def sketch_job(
    job: Job, talk: Talk, want_hints: bool = False, every: float | None = None, snapshot: Any = None
) -> Sketched:
    """Sketch the data of a job. `snapshot(sketch)` is called every so many seconds, where that is asked for."""
    began = time.perf_counter()
    source, operator = open_job(job, talk)
    if job.resume and (source.once or job.output is None):
        raise click.UsageError("--resume needs files, which can be read again, and an output (-o).")
    if job.output is not None and not atomic.is_device(job.output):
        click.get_current_context().with_resource(checkpoints.running(job.output))
    lasting = not source.once and job.output is not None and not atomic.is_device(job.output)
    path = checkpoints.path_of(job.output) if lasting and job.output is not None else None
    options = _options(job, operator)
    start = _resumed(path, source, options, job.resume, talk) if path else None
    planned = Planned(operator) if operator is not None else None
    if planned is None and start is not None and not want_hints:
        planned = Planned(start.sketch.operator)
    if planned is None:
        planned = draw_operator(source, job.plan, want_hints)
    for words in planned.words:
        talk.say(words)
    if want_hints:
        require_room(planned.operator.n_features, planned.operator.n_frequencies // planned.operator.octaves)
        _require_rows(source, planned, job.plan.n_clusters or 1)
    if start is None:
        start = State(planned.operator.empty())
    ready = time.perf_counter()
    save = _saver(path, source, options)
    state = _run(job, talk, start, source, save, every, snapshot)
    source.require_unchanged()
    done = time.perf_counter()
    if save and want_hints and done - ready >= job.checkpoint_every:
        save(state)  # decoding may be stopped, too: it need not cost another pass
    return Sketched(state.sketch, source, planned.hints, {"prepare": ready - began, "sketch": done - ready})


def _require_rows(source: Source, planned: Planned, n_clusters: int) -> None:
    """Refuse more clusters than rows before the pass over them, where their number is known."""
    rows = source.n_rows
    if rows is None and planned.hints is not None and planned.hints.sketch.count < PILOT_ROWS:
        rows = int(planned.hints.sketch.count)  # the pilot is all there is
    if rows is not None and n_clusters > rows:
        raise DecodeError(f"Expected n_clusters <= the {rows} row(s) read, got {n_clusters}: choose a smaller -k.")


def _run(
    job: Job,
    talk: Talk,
    start: State,
    source: Source,
    save: Callable[[State], str] | None,
    every: float | None,
    snapshot: Any,
) -> State:
    state = start
    saved = shot = time.monotonic()
    try:
        with Progress(talk, source.n_rows, source.n_bytes, start) as progress:
            tick = min(every, 0.5) if every else None
            for state in states(start.sketch.operator, source, start, job.on_bad, tick):
                progress.update(state)
                now = time.monotonic()
                if save and now - saved >= job.checkpoint_every:
                    save(state)
                    saved = time.monotonic()
                if every and now - shot >= every:
                    snapshot(state.sketch)
                    shot = now
    except KeyboardInterrupt:
        if save:
            talk.say(f"stopped after {state.sketch.count:,} rows; {save(state)} holds them.")
            talk.say(f"continue with: {command_again()} --resume")
        raise
    return state


def _saver(path: str | None, source: Source, options: dict[str, Any]) -> Callable[[State], str] | None:
    if path is None:
        return None

    def save(state: State) -> str:
        checkpoints.save(Checkpoint(state, source.stamps, options), path)
        return path

    return save


def _resumed(path: str, source: Source, options: dict[str, Any], resume: bool, talk: Talk) -> State | None:
    found = checkpoints.load(path) if resume else None
    if found is not None:
        checkpoints.require_same(found, source.stamps, options, path)
        if found.state.position.table >= len(source.tables):
            raise CheckpointError(f"{path}: expected a place within the inputs, got {found.state.position}. Remove it.")
        talk.say(f"resuming after {found.state.sketch.count:,} rows")
        return found.state
    if not resume:
        try:
            left = checkpoints.load(path) is not None
        except QckmError:
            left = True
        if left:
            talk.say(f"{path} is left of an earlier run; starting anew (--resume would continue it)")
    return None


def _options(job: Job, operator: SketchOperator | None) -> dict[str, Any]:
    """Return what must be the same for a run to be continued, as JSON gives it back."""
    return {
        "columns": None if job.columns is None else list(job.columns),
        "header": job.header,
        "dtype": job.dtype,
        "on_bad": job.on_bad,
        "operator": None if operator is None else operator.fingerprint,
        **(asdict(job.plan) if operator is None else {}),
    }


def remark(sketch: Sketch, talk: Talk) -> None:
    """Say what the user should know of a sketch: rows that were left out or clipped."""
    if sketch.skipped:
        talk.say(f"skipped {sketch.skipped:,} bad rows")
    if sketch.saturated:
        share = sketch.saturated / sketch.count
        talk.say(
            f"{sketch.saturated:,} rows ({share:.2%}) lie farther from the origin than can be coded, and were clipped: "
            "if they matter, use the logarithm of columns with long tails, a larger --scale, or the pilot's, which "
            "also finds the origin"
        )


def typed() -> list[str]:
    """Return the words after `qckm` that started this: as typed, or as another verb says (`demo` runs `fit`)."""
    context = click.get_current_context(silent=True)
    return list(context.obj) if context is not None and context.obj else sys.argv[1:]


def command_again() -> str:
    """Return the command that does the same once more."""
    return shlex.join(["qckm", *(word for word in typed() if word != "--resume")])


def facts_of(sketched: Sketched, n_bytes: int) -> dict[str, Any]:
    """Return what is worth knowing of a sketch that was just made."""
    sketch, operator = sketched.sketch, sketched.sketch.operator
    return {
        "rows": sketch.count,
        "skipped": sketch.skipped,
        "saturated": sketch.saturated,
        "inputs": [table.label for table in sketched.source.tables][:100],
        "n_inputs": len(sketched.source.tables),
        "data_bytes": sketched.source.n_bytes,
        "sketch_bytes": n_bytes,
        **operator_facts(operator),
        "seconds": sketched.seconds,
    }


def operator_facts(operator: SketchOperator) -> dict[str, Any]:
    """Return what is worth knowing of an operator."""
    return {
        "features": operator.n_features,
        "feature_names": operator.feature_names,
        "frequencies": operator.n_frequencies,
        "measurements": operator.n_measurements,
        "signature": operator.signature.name,
        "dither": operator.dither,
        "law": operator.law,
        "scale": operator.scale,
        "octaves": operator.octaves,
        "standardized": bool((operator.units != 1).any()),
        "fingerprint": operator.fingerprint,
    }


def fold(paths: Sequence[str], operation: Callable[[Sketch, Sketch], Sketch], output: str | None, talk: Talk) -> None:
    """Fold sketches from the left, and write the result; it may take the place of one of them, whose lock is held."""
    target = sketch_output(output)
    if paths.count("-") > 1:
        raise click.UsageError("Standard input can be read only once: give - once.")
    piped = sys.stdin.buffer.read() if "-" in paths else b""  # first: a pipe may take its time, others need the lock

    def read(path: str) -> Sketch:
        return parse_sketch(piped, "standard input") if path == "-" else files.load(path)

    with updating(target, talk) as write:
        total = read(paths[0])
        for path in paths[1:]:
            part = read(path)
            try:
                total = operation(total, part)
            except QckmError as error:
                raise error.within(path) from error
        data = files.dumps(total)
        write(data)
    talk.say(summary(total, len(data), None))
    talk.facts({"output": target, "rows": total.count, "skipped": total.skipped, "sketch_bytes": len(data)})


def write_sketch(sketch: Sketch, output: str) -> int:
    """Write a sketch to a file or, for "-", to stdout; return its size."""
    data = files.dumps(sketch)
    write_bytes(output, data)
    return len(data)


def sketch_output(output: str | None) -> str:
    """Return where a sketch goes: the file asked for, or stdout unless that is a terminal."""
    if output is None and sys.stdout.isatty():
        raise click.UsageError("A sketch is no text for a terminal: give it a name with -o.")
    return output or "-"


def summary(sketch: Sketch, n_bytes: int, source_bytes: int | None) -> str:
    """Return one line about a sketch."""
    shrunk = (
        f", {source_bytes / n_bytes:,.0f} times less than the data" if source_bytes and source_bytes > n_bytes else ""
    )
    return f"{sketch.count:,} row{'s' * (sketch.count != 1)} in {format_bytes(n_bytes)}{shrunk}"
