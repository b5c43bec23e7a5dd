"""What `qckm sketch --engine` does: the engine reads, its workers sketch, and this process gets the sum."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from qckm import engines
from qckm.cli.console import Console
from qckm.cli.error_hints import remarks_in_words
from qckm.cli.sketch_io import load_operator
from qckm.cli.summaries import operator_facts
from qckm.errors import SourceError
from qckm.planning.plan import Plan, Planned, plan_operator
from qckm.sketch import Sketch
from qckm.sources.opening import require_files_once
from qckm.sources.remote import public_name
from qckm.sources.rows import OnBad


@dataclass(frozen=True)
class EngineTask:
    """What to sketch, and how."""

    engine: str
    address: str | None
    data: tuple[str, ...]
    columns: tuple[str, ...] | None
    on_bad: OnBad
    plan: Plan
    operator_file: str | None


@dataclass(frozen=True, eq=False)
class EngineSketched:
    """A sketch, which engine made it of what, and the seconds of each part."""

    sketch: Sketch
    engine: str
    data: tuple[str, ...]
    seconds: dict[str, float]
    remarks: tuple[str, ...] = ()


def sketch_paths(task: EngineTask, console: Console) -> EngineSketched:
    """Sketch Parquet files where the engine is."""
    require_files_once(task.data)
    module = engines.import_engine(task.engine)
    try:
        return _sketch(task, module, console)
    except pa.ArrowException as error:
        raise SourceError(f"{task.data[0]}: expected Parquet that {task.engine} can read: {error}") from error


def _sketch(task: EngineTask, module: Any, console: Console) -> EngineSketched:
    operator = load_operator(task.operator_file) if task.operator_file else None
    began = time.perf_counter()
    with module.reading(task.data, task.address) as frame:
        ready = time.perf_counter()
        usual = None if operator is None else operator.feature_names
        held = module.open_partitions(frame, task.columns, usual)
        planned = Planned(operator) if operator else plan_operator(held.names, held.names, held.pilot, task.plan)
        for words in planned.words:
            console.say(words)
        drawn = time.perf_counter()
        sketch = held.sketch(planned.operator, task.on_bad)
        done = time.perf_counter()
    seconds = {"start": ready - began, "prepare": drawn - ready, "sketch": done - drawn}
    return EngineSketched(sketch, task.engine, task.data, seconds, planned.remarks)


def facts_of(done: EngineSketched, n_bytes: int) -> dict[str, object]:
    """Return what is worth knowing of a sketch that an engine made."""
    sketch = done.sketch
    return {
        "rows": sketch.count,
        "skipped": sketch.skipped,
        "saturated": sketch.saturated,
        "engine": done.engine,
        "inputs": [public_name(path) for path in done.data[:100]],
        "n_inputs": len(done.data),
        "sketch_bytes": n_bytes,
        **operator_facts(sketch.operator),
        "seconds": done.seconds,
        **({"remarks": remarks_in_words(done.remarks)} if done.remarks else {}),
    }
