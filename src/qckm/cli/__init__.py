"""Words typed go in, an exit code comes out: `main` runs a command of commands/, and turns errors into sentences."""

from __future__ import annotations

import importlib
import os
import sys

import click
from click.shell_completion import CompletionItem

import qckm
from qckm.cli.console import (
    FAILED,
    MISUSED,
    WORDS,
    missing_hint,
    print_data,
    public,
    say,
    say_traceback,
    say_usage,
    say_warnings,
    with_remedy,
)
from qckm.cli.stopping import leave, obey_signals
from qckm.common.atomic import naming
from qckm.errors import QckmError

VERBS = {
    "fit": "Find K centroids of data: sketch the data in one pass, then decode the sketch.",
    "sketch": "Sketch data in one pass; no row is kept.",
    "operator": "Draw the operator that many places share, so that their sketches merge.",
    "merge": "Add sketches.",
    "privatize": "Add noise to a sketch so that it may be published.",
    "subtract": "Subtract sketches from another one: forget rows, or cut out a window.",
    "decode": "Find K centroids from a sketch, alone or with some rows.",
    "choose-k": "Find out how many clusters there are, from one pass over the data.",
    "drift": "Test whether windows are alike, and show what has changed.",
    "calibrate": "Weigh a sample so that it represents all the rows of a sketch.",
    "predict": "Label rows with their nearest centroid.",
    "project": "Turn many columns into a few principal components, before sketching.",
    "encode": "Turn rows into the bits that a sensor would send.",
    "export-c": "Write an operator as C, for a sensor.",
    "pool": "Turn such bits, or a sensor's messages, into a sketch.",
    "collect": "Run a service that adds up what shops and sensors send.",
    "send": "Send sketches to such a service; retry later what cannot be sent now.",
    "info": "Show what is in a sketch, a model or a checkpoint.",
    "report": "Write one HTML file that shows what was found.",
    "demo": "Make a million rows, cluster them and write a report.",
}

# What Python calls the same: either verb will do.
ALSO = {"choose-n-clusters": "choose-k", "compare": "drift", "release": "privatize"}

# A verb whose command, called as the verb is, stands in the file of another.
BESIDE = {"subtract": "merge"}

# Verbs that answer a question with their exit code, 0 or 1: what goes wrong is 2.
ASKING = ("drift", "compare")

EXAMPLES = """\b
Examples:
  qckm fit 'data/*.parquet' -k 10 -o model.json --report report.html
  qckm predict new.csv -m model.json > labels.csv
  qckm operator day1.parquet -k 10 -o fleet.qckm          # once, then in every branch:
  qckm sketch day1.parquet --operator fleet.qckm -o berlin.qckm
  qckm merge berlin.qckm paris.qckm -o all.qckm
  qckm decode all.qckm -k 10 -o model.json
"""


EPILOG = """\b
As in Python:
  choose-n-clusters is choose-k, compare is drift, release is privatize

\b
Exit codes:
  0  done
  1  failed, or stopped; of `qckm drift`: there is drift
  2  wrong use; of `qckm drift`: anything that went wrong
  3  done, but the result is not reliable (with --strict, or QCKM_STRICT=1)
"""


class Verbs(click.Group):
    """Verbs that are imported when they are called: `qckm --help` needs no numerical library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs, in the order of a day's work."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        verb = ALSO.get(cmd_name, cmd_name)
        if verb not in VERBS:
            return None
        module = importlib.import_module(f"qckm.cli.commands.{BESIDE.get(verb, verb).replace('-', '_')}_command")
        command: click.Command = getattr(module, verb if verb in BESIDE else "command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Propose verbs without importing them."""
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(verb, help=words) for verb, words in VERBS.items() if verb.startswith(incomplete)
        ] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print_data(f"qckm {qckm.__version__}")
        ctx.exit()


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
    help=f"{EXAMPLES}\nK-means for data you can't store, move or re-read, from a sketch of a few kilobytes.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """Hold the verbs."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with one of the codes that `qckm --help` lists."""
    _replace_closed_streams()
    failed = _failure_of(_words(arguments))
    try:
        obey_signals(failed)  # a scheduler's way to say Ctrl-C
        say_warnings()
        code = run(arguments)
    except KeyboardInterrupt:  # before anything else was ready to hear of it
        code = _failed("stopped", failed)
    try:
        sys.stdout.flush()
    except OSError:  # said already; what is still buffered goes nowhere, or Python would complain of it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    leave(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = _words(arguments)
    WORDS.set(tuple(words))
    failed = _failure_of(words)
    try:
        result = cli.main(arguments, prog_name="qckm", standalone_mode=False)
        with naming("standard output"):
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        say_usage(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _failed("stopped", failed)
    except BrokenPipeError:
        return failed  # whoever read our output has seen enough
    except QckmError as error:
        return _failed(with_remedy(error), failed)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(f"{place}{error.strerror or error}{missing_hint(error)}", failed)
    except MemoryError:
        return _failed("not enough memory.", failed)
    except Exception as error:
        if os.environ.get("QCKM_DEBUG"):
            say_traceback(error)
        _failed(f"unexpected: {type(error).__name__}: {error}", failed)
        say("This is a bug in qckm: QCKM_DEBUG=1 shows where.")
        return failed


def _words(arguments: list[str] | None) -> list[str]:
    return sys.argv[1:] if arguments is None else arguments


def _failure_of(words: list[str]) -> int:
    """Return the exit code that says that a command has failed: of those that answer a question, 1 is an answer."""
    return MISUSED if words[:1] and words[0] in ASKING else FAILED


def _failed(words: str, code: int) -> int:
    say(f"qckm: {public(words)}")
    return code


def _replace_closed_streams() -> None:
    """Put something in the place of streams that were closed (`>&-`): the next file opened would get their number.

    Talk then goes nowhere; output, to what can only be read, is an error when there is some.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode))  # noqa: SIM115  # open until the end
