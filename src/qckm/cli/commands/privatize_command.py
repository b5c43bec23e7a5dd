"""`qckm privatize`: a sketch that may be published."""

from __future__ import annotations

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import Input, Number, OneFile, Whole
from qckm.cli.console import Console
from qckm.cli.inputs import read_ranges


@click.command()
@click.argument("sketch", type=OneFile())
@click.option("--epsilon", type=Number(min=0, min_open=True), help="ε of differential privacy.")
@click.option("--delta", type=Number(0, 1, True, True), help="δ, of the Gaussian mechanism.")
@click.option("--rho", type=Number(min=0, min_open=True), help="ρ of zCDP, instead of ε and δ.")
@click.option(
    "--mechanism",
    type=click.Choice(["gaussian", "laplace"]),
    default="gaussian",
    show_default=True,
    help="The noise: Laplace has δ = 0, and needs much more.",
)
@click.option(
    "--neighbours",
    type=click.Choice(["add-remove", "replace"]),
    default="add-remove",
    show_default=True,
    help="What is protected: whether a row is there, or which one is.",
)
@click.option(
    "--rows-per-person", type=Whole(min=1), default=1, show_default=True, help="How many rows one person has at most."
)
@click.option("--max-weight", type=Whole(min=1), help="The greatest weight of a row, where rows have weights.")
@click.option(
    "--operator-is-public",
    is_flag=True,
    help="The operator was made without these rows. [known of one from `qckm operator --ranges`]",
)
@click.option("--ranges", type=Input(), help="Public ranges of the columns, as for `qckm operator`. [default: its own]")
@click.option(
    "--after",
    type=Input(),
    multiple=True,
    help="An earlier release that some of the same rows are in: what it spent is added. May be given several times.",
)
@options.sketch_output_option
@options.console_options
def command(
    sketch: str,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mechanism: str,
    neighbours: str,
    rows_per_person: int,
    max_weight: int | None,
    operator_is_public: bool,
    ranges: str | None,
    after: tuple[str, ...],
    output: str | None,
    console: Console,
) -> None:
    """Add noise to a sketch, so that it may be published: whoever sees it hardly learns whether a row was there.

    \b
    Examples:
      qckm operator --ranges ranges.json -k 10 --private -o public-operator.qckm
      qckm sketch customers.parquet --operator public-operator.qckm -o secret.qckm
      qckm privatize secret.qckm --epsilon 1 --delta 1e-6 -o public.qckm
      qckm decode public.qckm -k 10 -o model.json

    Keep the exact sketch secret, and release it once: each release of the same rows spends more (--after).
    """
    from qckm.privacy import release

    target = sketches.sketch_output(output)
    exact = sketches.read_sketch(sketch)
    public = release(
        exact,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mechanism=mechanism,  # type: ignore[arg-type]  # one of the two: click has seen to it
        neighbours=neighbours,  # type: ignore[arg-type]
        rows_per_person=rows_per_person,
        max_weight=max_weight,
        operator_is_public=operator_is_public,
        ranges=None if ranges is None else read_ranges(ranges)[0],
        after=[sketches.read_sketch(path) for path in after],
    )
    assert public.ledger is not None
    size = sketches.write_sketch(public, target)
    console.say(public.ledger.in_words())
    console.print_facts({"output": target, "sketch_bytes": size, **public.ledger.as_facts()})
