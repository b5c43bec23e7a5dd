"""Options that several verbs share."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from qckm.cli import completion
from qckm.cli.console import Console
from qckm.cli.inputs import Reading
from qckm.cli.paths import Input, OneFile, Output, require_apart
from qckm.errors import OperatorError, SourceError
from qckm.kernels.sketcher import parse_device
from qckm.models import ENDINGS
from qckm.operator.laws import LAWS
from qckm.operator.signatures import SIGNATURES
from qckm.sources.rows import OnBad
from qckm.sources.table import AllBut
from qckm.sources.text import TextFormat

_MOST_NUMBERS = 200

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _chain(*decorators: Decorator) -> Decorator:
    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        return functools.reduce(lambda inner, decorator: decorator(inner), reversed(decorators), verb)

    return decorate


class ColumnNames(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """Names with commas between."""

    name = "a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the names."""
        if not isinstance(value, str):
            return value
        names = tuple(name.strip() for name in value.split(","))
        if not all(names):
            self.fail(f"expected names with commas between, got {value!r}.", param, ctx)
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Propose columns of the file named before."""
        return completion.columns(ctx, param, incomplete)


class Numbers(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """Whole numbers from 1 on: 2-12, or 2,4,8."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the numbers, increasing."""
        if not isinstance(value, str):
            return value
        found: set[int] = set()
        for part in value.split(","):
            ends = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", part)
            first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, 0)
            if not 0 < first <= last:
                self.fail(f"expected numbers such as 2-12 or 2,4,8, got {value!r}.", param, ctx)
            found |= set(range(first, last + 1))
        if len(found) > _MOST_NUMBERS:
            self.fail(f"expected at most {_MOST_NUMBERS} numbers to try, got {len(found)}.", param, ctx)
        return tuple(sorted(found))


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """A time: 60s, 5m, 1h, or seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return seconds."""
        if isinstance(value, (int, float)):
            return float(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", value)
        if not found or not float(found[1]) > 0:
            self.fail(f"expected a time such as 60s, 5m or 1h, got {value!r}.", param, ctx)
        return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


class Whole(click.IntRange):
    """A whole number, with words for what is none: click speaks of "a valid integer range"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            found = int(value)
        except (ValueError, TypeError):
            found = None
        if found is None or (self.min is not None and found < self.min) or (self.max is not None and found > self.max):
            least = "" if self.min is None else f" of {self.min:g} or more"
            self.fail(f"expected a whole number{least}, got {value!r}.", param, ctx)
        return found


class Number(click.FloatRange):
    """A number within a range, with words for what is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(float(value), param, ctx)
        except ValueError:
            self.fail(f"expected a number, got {value!r}.", param, ctx)


class Scale(Number):
    """A length > 0: click's range lets NaN and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is no length."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"expected a finite number > 0, got {value}.", param, ctx)
        return found


class Checked(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """A word that a function of the library takes, or refuses in its own words; shells propose some."""

    def __init__(self, name: str, check: Callable[[str], object], **proposed: str) -> None:
        self.name, self._check, self._propose = name, check, completion.one_of(**proposed)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what the function refuses."""
        try:
            self._check(value)
        except (OperatorError, SourceError) as error:
            self.fail(str(error), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Propose words."""
        return self._propose(ctx, param, incomplete)


def _require_engine(value: str) -> None:
    from qckm.engines import parse_engine  # takes its time to import

    parse_engine(value)


data_argument = click.argument("data", type=Input(), nargs=-1, required=True, metavar="DATA...")


def together(_: click.Context, __: click.Parameter, given: tuple[tuple[str, ...], ...]) -> tuple[str, ...] | None:
    """Add up what was given in several options."""
    return tuple(name for names in given for name in names) or None


bad_option = click.option(
    "--on-bad",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Rows with a null, NaN or infinity: stop and name the first, or skip and count them.",
)


def data_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb what says how data are read, as one argument `reading`."""

    @click.option(
        "--columns",
        "-c",
        type=ColumnNames(),
        multiple=True,
        callback=together,
        help="Columns to read, by name, or by position (0,1,…) where none has that name; may be given several times. "
        "[default: the operator's or model's, or all]",
    )
    @click.option(
        "--exclude",
        type=ColumnNames(),
        multiple=True,
        callback=together,
        help="Columns to leave out; all others are read.",
    )
    @click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV holds names. [default: if there is text in it]",
    )
    @click.option(
        "--delimiter",
        help="The separator of a CSV, such as ';' or tab. [default: by its first line]",
        shell_complete=completion.one_of(**{";": "semicolon", ",": "comma", "tab": "tab", "|": "bar"}),
    )
    @click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", help="The decimal mark in a CSV. [default: .]"
    )
    @click.option(
        "--comment",
        help="Skip lines of a CSV that begin with this character, such as '#'.",
        shell_complete=completion.one_of(**{"#": "as in shells", "%": "as in TeX"}),
    )
    @click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "float64"]),
        default="auto",
        show_default=True,
        help="What values are read as.",
    )
    @bad_option
    @functools.wraps(verb)
    def with_reading(
        *,
        columns: tuple[str, ...] | None,
        exclude: tuple[str, ...] | None,
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
        return verb(reading=Reading(AllBut(exclude) if exclude else columns, text, dtype, on_bad), **arguments)

    return with_reading


seed_option = click.option(
    "--seed", type=Whole(min=0), default=0, show_default=True, help="The same seed gives the same result."
)

plan_options = _chain(
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


def operator_option(required: bool = False) -> Decorator:
    """Give a verb the file of an operator, which some verbs cannot do without."""
    use = "Use the operator of this .qckm file: sketches of one operator merge."
    help_ = "The operator's .qckm file." if required else use
    return click.option("--operator", "--like", "operator_file", type=OneFile(), required=required, help=help_)


run_options = _chain(
    click.option("--resume", is_flag=True, help="Continue from the checkpoint beside the output, if there is one."),
    click.option(
        "--checkpoint-every",
        type=Duration(),
        default="10s",
        show_default=True,
        help="How often to save a checkpoint.",
    ),
    click.option(
        "--device",
        type=Checked("device", parse_device, cpu="this machine's cores", cuda="a GPU"),
        default="cpu",
        show_default=True,
        help="Where rows are sketched: cpu, cuda, or cuda:1 and so on. The sums are the same.",
    ),
)

decode_options = _chain(
    click.option(
        "--decoder",
        default="auto",
        show_default=True,
        help="auto, matched or clompr.",
        shell_complete=completion.one_of(auto="the best", matched="models widths", clompr="the paper's"),
    ),
    click.option("--n-init", type=Whole(min=1), default=1, show_default=True, help="Replicates to choose from."),
)

engine_option = click.option(
    "--engine",
    type=Checked("engine", _require_engine, dask="Dask", spark="Spark", ray="Ray"),
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
