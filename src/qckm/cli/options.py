"""Options that several verbs share, and how data are read that they tell of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from qckm.cli.arguments import (
    COLUMNS,
    DEVICE,
    DURATION,
    ENGINE,
    Input,
    OneFile,
    Output,
    Scale,
    Whole,
    one_of,
    require_apart,
)
from qckm.cli.console import Console
from qckm.errors import SourceError
from qckm.models import ENDINGS
from qckm.operator.laws import LAWS
from qckm.operator.signatures import SIGNATURES
from qckm.planning.plan import Plan
from qckm.sources.opening import open_source
from qckm.sources.rows import OnBad
from qckm.sources.source import Source
from qckm.sources.table import AllBut
from qckm.sources.text import UNKNOWN, TextFormat

if TYPE_CHECKING:
    from qckm.engines import Cluster
    from qckm.engines.files import FileRows

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _chain(*decorators: Decorator) -> Decorator:
    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        return functools.reduce(lambda inner, decorator: decorator(inner), reversed(decorators), verb)

    return decorate


@dataclass(frozen=True)
class Reading:
    """How data are read: which columns, what is known of a CSV, as what numbers, and what happens to bad rows."""

    columns: tuple[str, ...] | None = None
    text: TextFormat = UNKNOWN
    dtype: str = "auto"
    on_bad: OnBad = "error"

    def open(self, data: Sequence[str], console: Console, usual: Sequence[str] | None = None) -> Source:
        """Open files here, whose columns are the usual ones if no others were asked for; say what was assumed."""
        source = open_source(list(data), self.columns, self.dtype, usual, **asdict(self.text))
        _say_assumed(source, console)
        return source

    def open_on(
        self, cluster: Cluster, data: Sequence[str], console: Console, usual: Sequence[str] | None = None
    ) -> FileRows:
        """Open files that the workers of a cluster read."""
        from qckm.engines.files import FileRows

        rows = FileRows(cluster, data, self.columns, self.dtype, usual, self.text)
        _say_assumed(rows, console)
        return rows


def _say_assumed(rows: Source | FileRows, console: Console) -> None:
    for words in rows.assumptions:
        console.say(assumption_in_words(words))


def assumption_in_words(words: str) -> str:
    """Return what was taken for granted on opening data, with its remedy on the command line."""
    return f"{words}; if that is wrong, use --header, --no-header or --columns"


data_argument = click.argument("data", type=Input(), nargs=-1, required=True, metavar="DATA...")


bad_option = click.option(
    "--on-bad",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Rows with a null, NaN or infinity: stop and name the first, or skip and count them.",
)


_reading_options = _chain(
    click.option(
        "--columns",
        "-c",
        type=COLUMNS,
        multiple=True,
        help="Columns to read, by name, or by position (0,1,…) where none has that name; may be given several times. "
        "[default: the operator's or model's, or all]",
    ),
    click.option("--exclude", type=COLUMNS, multiple=True, help="Columns to leave out; all others are read."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV holds names. [default: if there is text in it]",
    ),
    click.option(
        "--delimiter",
        help="The separator of a CSV, such as ';' or tab. [default: by its first line]",
        shell_complete=one_of(**{";": "semicolon", ",": "comma", "tab": "tab", "|": "bar"}),
    ),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", help="The decimal mark in a CSV. [default: .]"
    ),
    click.option(
        "--comment",
        help="Skip lines of a CSV that begin with this character, such as '#'.",
        shell_complete=one_of(**{"#": "as in shells", "%": "as in TeX"}),
    ),
    click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "float64"]),
        default="auto",
        show_default=True,
        help="What values are read as.",
    ),
    bad_option,
)


def data_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb what says how data are read, as one argument `reading`."""

    @_reading_options
    @functools.wraps(verb)
    def with_reading(
        *,
        columns: tuple[tuple[str, ...], ...],
        exclude: tuple[tuple[str, ...], ...],
        header: bool | None,
        delimiter: str | None,
        decimal: str,
        comment: str | None,
        dtype: str,
        on_bad: OnBad,
        **arguments: Any,
    ) -> Any:
        if columns and exclude:
            raise click.UsageError("Give --columns, those to read, or --exclude, those to leave out.")
        try:
            text = TextFormat(header, delimiter, decimal, comment)
        except SourceError as error:
            raise click.UsageError(str(error)) from error
        names = AllBut(chain(*exclude)) if exclude else tuple(chain(*columns)) or None
        return verb(reading=Reading(names, text, dtype, on_bad), **arguments)

    return with_reading


seed_option = click.option(
    "--seed", type=Whole(min=0), default=0, show_default=True, help="The same seed gives the same result."
)


_wishes = _chain(
    click.option("--scale", type=Scale(min=0, min_open=True), help="Kernel length. [default: from a pilot]"),
    click.option(
        "--octaves",
        type=Whole(min=1),
        default=1,
        show_default=True,
        help="Scales to measure at, from --scale (the finest) or around the pilot's, if unsure: decoding chooses.",
    ),
    click.option(
        "--frequencies",
        "n_frequencies",
        type=Whole(min=1),
        help="How many. [default: 20·columns·K where the sketch is decoded alone, else 5·columns·K; at least 100]",
    ),
    click.option(
        "--signature",
        type=click.Choice(list(SIGNATURES)),
        default="one-bit",
        show_default=True,
        help="What is kept of each projection.",
    ),
    click.option(
        "--law",
        type=click.Choice(["auto", *LAWS]),
        default="auto",
        show_default=True,
        help="Law of the frequencies' lengths.",
    ),
    click.option(
        "--dither",
        type=click.Choice(["paired", "single"]),
        default="paired",
        show_default=True,
        help="Whether each frequency is measured twice, a quarter turn apart, or once.",
    ),
    click.option("--standardize", is_flag=True, help="Count each column in its standard deviation (of the pilot)."),
    seed_option,
)


def plan_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb what says how an operator is drawn, as one argument `plan`; how many clusters is for it to add."""

    @_wishes
    @functools.wraps(verb)
    def with_plan(**arguments: Any) -> Any:
        wishes = {field.name: arguments.pop(field.name) for field in fields(Plan) if field.name in arguments}
        return verb(plan=Plan(**wishes), **arguments)

    return with_plan


def operator_option(required: bool = False) -> Decorator:
    """Give a verb the file of an operator, which some verbs cannot do without."""
    use = "Use the operator of this .qckm file: sketches of one operator merge."
    help_ = "The operator's .qckm file." if required else use
    return click.option("--operator", "--like", "operator_file", type=OneFile(), required=required, help=help_)


run_options = _chain(
    click.option("--resume", is_flag=True, help="Continue from the checkpoint beside the output, if there is one."),
    click.option(
        "--checkpoint-every", type=DURATION, default="10s", show_default=True, help="How often to save a checkpoint."
    ),
    click.option(
        "--device",
        type=DEVICE,
        default="cpu",
        show_default=True,
        help="Where rows are sketched: cpu, cuda, or cuda:1 and so on. The sums are the same.",
    ),
)

decode_options = _chain(
    click.option(
        "--decoder",
        type=click.Choice(["auto", "matched", "clompr"]),
        default="auto",
        show_default=True,
        help="What finds the centroids.",
        shell_complete=one_of(auto="the best", matched="models widths", clompr="the paper's"),
    ),
    click.option("--n-init", type=Whole(min=1), default=1, show_default=True, help="Replicates to choose from."),
)

engine_option = click.option(
    "--engine",
    type=ENGINE,
    help="Have workers read DATA: dask, spark or ray on the cores of this machine, or dask://host:8786, "
    "spark://host:7077, sc://host:15002 (Spark Connect), ray://host:10001. [default: this process]",
)


def clusters_option(required: bool = True, help: str = "How many clusters to find: K.") -> Decorator:
    """Give a verb the number of clusters."""
    return click.option("--clusters", "-k", "--k", "clusters", type=Whole(min=1), required=required, help=help)


def model_output_option(resumable: bool = False) -> Decorator:
    """Give a verb the file that a model goes to."""
    kind = Output(*ENDINGS, resumable=resumable, in_json=True)
    help_ = "model.json, .csv, .parquet or .npz. [default: CSV on stdout]"
    return click.option("--output", "-o", type=kind, help=help_)


sketch_output_option = click.option("--output", "-o", type=Output(), help="The .qckm file. [default: stdout]")

strict_option = click.option(
    "--strict", is_flag=True, envvar="QCKM_STRICT", help="Exit with code 3 if the result is not reliable."
)


def console_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --quiet and --json, as one argument `console`; look at its files before it starts."""

    @click.option("--quiet", "-q", is_flag=True, help="Print only warnings and errors.")
    @click.option("--json", "as_json", is_flag=True, help="Print a summary as one line of JSON on stdout.")
    @functools.wraps(verb)
    def with_console(*, quiet: bool, as_json: bool, **arguments: Any) -> Any:
        require_apart(click.get_current_context())
        return verb(console=Console(quiet, as_json), **arguments)

    return with_console
