"""`qckm info`: what is in a file."""

from __future__ import annotations

import contextlib
import sys

import click
import numpy as np

from qckm.cli import options, sketches
from qckm.cli.arguments import OneFile
from qckm.cli.console import Console, show
from qckm.common import foreign_files
from qckm.common.arrays import Floats
from qckm.common.text import format_value
from qckm.models import read_model
from qckm.models.formats import is_model
from qckm.planning.column_checks import names_of
from qckm.sketch import Sketch, checkpoints, files
from qckm.sketch.sections import MAGIC

_MOST_PAIRS = 5  # of columns that are shown
_WIDEST = 20  # of the names of facts; a file may have longer ones
# Facts of a file that are told in another way, or would be taken for what we found ourselves.
_OTHERWISE = ("feature_names", "inputs", "kind", "clusters", "weights", "columns")


@click.command()
@click.argument("path", type=OneFile())
@options.console_options
def command(path: str, console: Console) -> None:
    """Show what is in a sketch, a model or a checkpoint.

    \b
    Examples:
      qckm info all.qckm
      qckm info model.json --json
    """
    label = sketches.label_of(path)
    if sketches.is_collector_url(path):
        _show(_facts(sketches.read_data(path), label), console)
        return
    with contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
        data = file.read(foreign_files.START)
        if foreign_files.recognised(data) or is_model(data):  # of anything else no more is read, however long it is
            data += file.read()
    _show(_facts(data, label), console)


def _show(facts: dict[str, object], console: Console) -> None:
    if console.json:
        console.print_facts(facts)
        return
    facts.pop("covariances", None)  # as many as the square of the columns: for programs
    width = min(_WIDEST, max(len(name) for name in facts))
    for name, value in facts.items():
        show(f"{name.replace('_', ' '):{width}}  {format_value(value)}")


def _facts(data: bytes, label: str) -> dict[str, object]:
    if data.startswith(checkpoints.MAGIC):
        found = checkpoints.loads(data, label)
        place = {"kind": "checkpoint", "input": found.state.position.table, "row": found.state.position.row}
        return {**place, **sketch_facts(found.state.sketch)}
    if data.startswith(MAGIC):
        sketch = sketches.parse_sketch(data, label)
        written = {"version": files.version_of(data), "bytes": len(data), "bytes for": files.sizes(data)}
        return {"kind": "sketch", **written, **sketch_facts(sketch)}
    model = read_model(data, label)
    return {
        "kind": "model",
        "clusters": len(model.centers),
        "weights": model.weights.tolist(),
        **{name: value for name, value in model.facts.items() if name not in _OTHERWISE},
        "columns": list(model.names),
    }


def sketch_facts(sketch: Sketch) -> dict[str, object]:
    """Return what is worth knowing of a sketch."""
    (lower, upper), (least, greatest) = sketch.bounds, sketch.operator.reach
    return {
        "rows": sketch.count,
        "parts": len(sketch.parts) or None,
        **({} if sketch.ledger is None else {"privacy": sketch.ledger.in_words()}),
        "skipped": sketch.skipped,
        "saturated": sketch.saturated,
        **sketches.operator_facts(sketch.operator),
        "steps": sketch.operator.steps.tolist(),
        "origin": sketch.operator.origin.tolist(),
        "reaches from": least.tolist(),
        "reaches to": greatest.tolist(),
        "least": _known(lower),
        "greatest": _known(upper),
        "mean": None if sketch.column_means is None else sketch.column_means.tolist(),
        "standard deviation": None if sketch.column_variances is None else np.sqrt(sketch.column_variances).tolist(),
        "correlations": _strongest(sketch),
        "covariances": None if sketch.column_covariances is None else sketch.column_covariances.tolist(),
    }


def _strongest(sketch: Sketch) -> dict[str, float] | None:
    """Return the correlations that are furthest from 0, by the names of their columns."""
    correlations = sketch.column_correlations
    if correlations is None:
        return None
    first, second = np.triu_indices(len(correlations), 1)
    found = correlations[first, second]
    order = [place for place in np.argsort(-np.abs(found), kind="stable") if np.isfinite(found[place])]
    names = names_of(sketch)
    return {f"{names[first[i]]} and {names[second[i]]}": float(found[i]) for i in order[:_MOST_PAIRS]}


def _known(bounds: Floats) -> list[float | None] | None:
    """Return the bounds that are known; None where none is."""
    known = [bound if np.isfinite(bound) else None for bound in bounds.tolist()]
    return known if any(bound is not None for bound in known) else None
