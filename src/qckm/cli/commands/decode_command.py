"""`qckm decode`: centroids, or a mixture of Gaussians, from a sketch, alone or with some rows."""

from __future__ import annotations

import click

from qckm.cli import inputs, options, sketch_to_model, sketches
from qckm.cli.arguments import Input, OneFile
from qckm.cli.console import Console
from qckm.common.text import public_name
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.gaussian_mixture import COVARIANCE_TYPES, CovarianceType, FittedMixture
from qckm.models import Model
from qckm.models.gaussian_density import GaussianDensity
from qckm.planning.plan import require_rows
from qckm.sketch import Sketch
from qckm.sources.rows import OnBad


@click.command()
@click.argument("sketch", type=OneFile())
@options.clusters_option()
@options.model_output_option()
@click.option("--rows", type=Input(), help="A file of some of the rows, or rows like them, to decode with.")
@click.option(
    "--mixture",
    type=click.Choice(COVARIANCE_TYPES),
    help="Fit a mixture of K Gaussians with these covariances instead of centroids. [output: JSON on stdout]",
)
@options.decode_options
@options.bad_option
@options.seed_option
@options.strict_option
@options.console_options
def command(
    sketch: str,
    clusters: int,
    output: str | None,
    rows: str | None,
    mixture: CovarianceType | None,
    decoder: str,
    n_init: int,
    on_bad: OnBad,
    seed: int,
    strict: bool,
    console: Console,
) -> int:
    """Find K centroids, their weights and spreads, from SKETCH: no row is needed, and some rows make it better.

    \b
    Examples:
      qckm decode all.qckm -k 10 -o model.json
      qckm decode all.qckm -k 10 --rows sample.parquet -o model.json
      qckm decode all.qckm -k 10 --mixture full -o mixture.json
      qckm merge *.qckm | qckm decode - -k 10 > centroids.csv
    """
    if mixture and decoder != "auto":
        raise click.UsageError("A mixture has a decoder of its own: give --mixture or --decoder.")
    target = output or "-"
    if mixture and target.lower().endswith(".csv"):
        raise click.UsageError("A CSV cannot hold covariances: write .json, .parquet or .npz.")
    found = sketches.read_sketch(sketch)
    require_rows(found.count, clusters)
    hints = inputs.read_some(rows, found.operator, seed, console, on_bad) if rows else None
    privacy = _privacy(found, rows)
    if privacy and rows:
        console.warn(privacy)
    fitted: Clustering | FittedMixture
    if mixture:
        fitted, told, seconds = sketch_to_model.fit_sketch(found, clusters, mixture, n_init, seed, console, hints)
    else:
        fitted, told, seconds = sketch_to_model.decode_sketch(found, clusters, decoder, n_init, seed, console, hints)
    sketches.remark(found, console, earlier=True)
    facts = {
        "rows": found.count,
        "skipped": found.skipped,
        "saturated": found.saturated,
        "inputs": [public_name(sketch)],
        **sketches.operator_facts(found.operator),
        **told,
        "seed": seed,
        "seconds": {"decode": seconds},
        **({"privacy": privacy} if privacy else {}),
    }
    if isinstance(fitted, FittedMixture):
        density = GaussianDensity(fitted.weights, fitted.means, fitted.covariances)
        model = Model.of_mixture(density, found.operator, facts)
    else:
        model = fitted.to_model(facts)
    sketch_to_model.write_model(model, target, console)
    return sketch_to_model.say_found(fitted, found, target, seconds, strict, console)


def _privacy(sketch: Sketch, rows: str | None) -> str | None:
    """Return what may be said of the model of a private sketch: its guarantee, unless rows took part in it."""
    if sketch.ledger is None:
        return None
    if rows:
        return f"the model is not private: the rows of {public_name(rows)} are in it, and no noise hides them"
    return sketch.ledger.in_words()
