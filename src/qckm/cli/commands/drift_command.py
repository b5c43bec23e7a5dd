"""`qckm drift`: whether windows are alike, and what has changed."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import click

from qckm.cli import inputs, options, outputs
from qckm.cli.arguments import Input, Number, OneFile, Output, is_stream, sketch_files
from qckm.cli.console import Console, show, write_bytes
from qckm.cli.data_to_sketch import cluster_for
from qckm.cli.options import Reading
from qckm.cli.sketches import is_sketch, load_model, load_operator, read_sketch
from qckm.common.text import public_name
from qckm.drift.compare import compare, compare_windows
from qckm.drift.drift_result import Drift, DriftSeries
from qckm.drift.reference_rows import MOST_ROWS, Reference
from qckm.errors import DriftWarning, PoorFitWarning, QckmError, RemarkWarning, SaturationWarning
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.opening import paths_of
from qckm.sources.rows import OnBad


def _windows_of(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sketches that names stand for; what stands for other files is one window of data, and stays."""
    found: list[str] = []
    for path in given:
        names = sketch_files(context, param, (path,)) if is_stream(path) or not _is_data(path) else (path,)
        found += names
    return tuple(found)


def _is_data(path: str) -> bool:
    files = paths_of(path)
    return bool(files) and os.path.exists(files[0]) and not is_sketch(files[0])


@click.command()
@click.argument("sketches", nargs=-1, required=True, type=Input(), metavar="SKETCH...", callback=_windows_of)
@click.option(
    "--against",
    type=Input(),
    multiple=True,
    callback=_windows_of,
    help="What every SKETCH is compared with; several are added up.",
)
@click.option("--blocks", is_flag=True, help="All SKETCHes are parts of one window, those of --against of the other.")
@click.option("--reference", type=Input(), help="A file of 2000 rows or more of the usual kind: a more powerful test.")
@click.option(
    "--level",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The share of false alarms to put up with.",
)
@click.option(
    "--min-effect",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Changes of a smaller share of the rows are no drift: 0.05 is 5 %.",
)
@click.option(
    "--statistic",
    type=click.Choice(["auto", "largest", "squares", "whitened"]),
    default="auto",
    show_default=True,
    help="The test. auto: whitened with a reference, else largest.",
)
@options.clusters_option(False, "Explain the change by this many clusters.")
@click.option("--model", "-m", type=OneFile(), help="Explain it by the clusters of a model.")
@click.option("--report", type=Output(), help="Write an HTML page.")
@click.option(
    "--plot",
    type=Output(*outputs.PICTURES),
    help="Draw how much has changed, or where rows came and went (needs matplotlib).",
)
@options.operator_option()
@options.bad_option
@options.engine_option
@options.seed_option
@options.console_options
def command(
    sketches: tuple[str, ...],
    against: tuple[str, ...],
    blocks: bool,
    reference: str | None,
    level: float,
    min_effect: float,
    statistic: Literal["auto", "largest", "squares", "whitened"],
    clusters: int | None,
    model: str | None,
    report: str | None,
    plot: str | None,
    operator_file: str | None,
    on_bad: OnBad,
    engine: str | None,
    seed: int,
    console: Console,
) -> int:
    """Find out whether the rows of two sketches are alike, how much has changed, and what. No row is needed.

    \b
    Examples:
      qckm drift monday.qckm tuesday.qckm
      qckm drift monday.qckm tuesday.qckm --reference usual.parquet -k 10 --report drift.html
      qckm drift hour-*.qckm --against last-week.qckm --min-effect 0.02 --plot hours.png
      qckm drift today-*.qckm --against 'yesterday-*.qckm' --blocks
      qckm drift 'today/*.parquet' --against last-week.qckm --engine dask://scheduler:8786

    A window may also be data, a file or a pattern of files: it is sketched as the sketches beside it are, or by the
    operator that --operator names.

    The exit code is 0 if no drift was found, 1 if there is drift, 2 if something is wrong. The more rows there are, the
    smaller the differences that are found: the size is printed beside the p-value, and with --min-effect small ones
    do not count. Of many windows, the level is the share of false alarms among those that are reported. With --blocks,
    rows may depend on their neighbours within a part.
    """
    names, others = list(sketches), list(against)
    if not others and (blocks or len(names) != 2):
        raise click.UsageError(f"Expected two sketches, or --against, got {len(names)}.")
    if clusters is not None and model is not None:
        raise click.UsageError("Expected -k or --model, got both.")
    if (clusters is not None or model is not None) and len(names) > 1 and others and not blocks:
        raise click.UsageError("Expected one window to explain, got several: compare it alone.")
    if not others:
        names, others = names[1:], names[:1]
    if [*names, *others].count("-") > 1:
        raise click.UsageError("Standard input can be read only once: give - once.")
    if len(others) == 1 and not blocks:
        names = _apart(names, others[0], console)
    windows, usual = _read(names, others, operator_file, on_bad, engine, console)
    names, others = list(map(public_name, names)), list(map(public_name, others))
    operator = usual[0].operator
    prepared = None
    if reference is not None:
        rows = inputs.read_some(reference, operator, seed, console, on_bad, MOST_ROWS).repeated(MOST_ROWS)
        prepared = Reference.of(operator, rows, seed)
    known: Any = load_model(model) if model is not None else clusters
    options: dict[str, Any] = {"statistic": statistic, "level": level, "min_effect": min_effect, "random_state": seed}
    found: Drift | DriftSeries
    with warnings.catch_warnings():
        for kind in (DriftWarning, PoorFitWarning, RemarkWarning, SaturationWarning):
            warnings.simplefilter("ignore", kind)  # a note says it, too
        if blocks:
            found = compare(usual, windows, prepared, clusters=known, **options)
        elif len(windows) == 1:
            found = compare(_sum(usual, others), windows[0], prepared, clusters=known, **options)
        else:
            found = compare_windows(windows, _sum(usual, others), prepared, names=_short(names), **options)
    _write(found, report, plot, (_words(others), _words(names)))
    console.print_facts({"inputs": list(names), "against": list(others), **found.to_dict()})
    if console.json or console.quiet:
        for note in found.notes:
            console.warn(note)
    else:
        for line in found.summary().split("\n"):
            show(line)
    return int(bool(found.to_dict()["drifted"]))


def _read(
    names: list[str], others: list[str], operator_file: str | None, on_bad: OnBad, engine: str | None, console: Console
) -> tuple[list[Sketch], list[Sketch]]:
    """Read the sketches, and sketch what is data."""
    data = [name for name in (*names, *others) if not is_sketch(name)]
    found = {name: read_sketch(name) for name in (*names, *others) if name not in data}
    if data:
        if operator_file is None and not found:
            raise click.UsageError("Expected a sketch among the windows, or --operator FILE, to sketch data with.")
        operator = load_operator(operator_file) if operator_file else next(iter(found.values())).operator
        found |= _sketch_windows(operator, data, on_bad, engine, console)
    elif engine is not None:
        raise click.UsageError("All windows are sketches, there is nothing for an engine to read: leave out --engine.")
    return [found[name] for name in names], [found[name] for name in others]


def _sketch_windows(
    operator: SketchOperator, windows: list[str], on_bad: OnBad, engine: str | None, console: Console
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


def _apart(names: list[str], other: str, console: Console) -> list[str]:
    """Return the windows without the one that they are compared with: a pattern of files matches it, too."""
    kept = [name for name in names if os.path.realpath(name) != os.path.realpath(other)]
    if not kept or len(kept) == len(names):
        return names
    console.say(f"{other} is not compared with itself")
    return kept


def _sum(sketches: list[Sketch], names: list[str]) -> Sketch:
    total = sketches[0]
    for name, part in zip(names[1:], sketches[1:], strict=True):
        try:
            total = total + part
        except QckmError as error:
            raise error.within(name) from error
    return total


def _short(names: list[str]) -> list[str]:
    """Return names of files without what they have in common: their folder and ending."""
    plain = [os.path.basename(name).removesuffix(".qckm") for name in names]
    return plain if len(set(plain)) == len(plain) else names


def _words(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _write(found: Drift | DriftSeries, report: str | None, plot: str | None, names: tuple[str, str]) -> None:
    """Write a page and a picture, where they were asked for."""
    if report is not None:
        from qckm.report import render_drift

        called = (names[1], names[0]) if isinstance(found, DriftSeries) else names
        write_bytes(report, render_drift(found, called).encode())
    if plot is not None:
        write_bytes(plot, outputs.drawn(plot, lambda ax: _draw(found, ax)))


def _draw(found: Drift | DriftSeries, ax: Any) -> Any:
    from qckm import plots

    return plots.drift_effects(found, ax) if isinstance(found, DriftSeries) else plots.witness(found, ax)
