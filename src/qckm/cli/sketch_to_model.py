"""What `decode` and `fit` share: from a sketch to a model, and the model to where it is wanted."""

from __future__ import annotations

import time
import warnings

import click

from qckm.cli.console import Console
from qckm.cli.output_files import write_bytes
from qckm.common.text import format_duration
from qckm.decoding.decode import DECODERS, POOR_FIT, Clustering, Hints, decode_hinted
from qckm.errors import PoorFitWarning
from qckm.models import Model, to_csv, writer_for
from qckm.sketch import Sketch


def require_decoder(name: str) -> None:
    """Refuse a decoder that does not exist, before the work."""
    if name not in DECODERS:
        raise click.UsageError(f"Expected --decoder among {', '.join(DECODERS)}, got {name!r}.")


def decode_sketch(
    sketch: Sketch, n_clusters: int, decoder: str, n_init: int, seed: int, console: Console, hints: Hints | None = None
) -> tuple[Clustering, float]:
    """Decode with the rows of a pilot where there is one; return what was found, and the seconds taken."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)  # said in the tool's own voice
        found = decode_hinted(sketch, n_clusters, hints, decoder=decoder, n_init=n_init, random_state=seed)
    if found.converged is False:
        console.say(f"warning: {POOR_FIT}")
    for remark in found.remarks:
        console.say(f"warning: {remark}")
    return found, time.perf_counter() - began


def fit_facts(clustering: Clustering) -> dict[str, object]:
    """Return what is worth knowing of a clustering beside its centroids."""
    return {
        "objective": clustering.objective,
        "explained": clustering.explained,
        "converged": clustering.converged,
        **({"remarks": list(clustering.remarks)} if clustering.remarks else {}),
        **({} if clustering.inertia is None else _inertia(clustering)),
        "evaluations": clustering.n_iter,
        **({} if clustering.octave is None else {"octave": clustering.octave}),
    }


def _inertia(clustering: Clustering) -> dict[str, object]:
    return {"inertia_estimate": clustering.inertia, "inertia_error": clustering.inertia_error}


def summary(clustering: Clustering, seconds: float) -> str:
    """Return what was found, in a line."""
    words = f"K = {len(clustering.centers)} explains {clustering.explained:.1%} of the sketch"
    if clustering.inertia is not None and clustering.inertia_error is not None:
        words += f"; sum of squared distances {clustering.inertia:.4g} ± {clustering.inertia_error:.1g}, estimated"
    return f"{words}, in {format_duration(seconds)}"


def write_model(model: Model, output: str, console: Console) -> None:
    """Write the model to a file; to stdout as JSON if that is asked for, else as CSV."""
    if output != "-":
        write_bytes(output, writer_for(output)(model))
    elif not console.json:
        write_bytes(output, to_csv(model))
    console.print_facts(
        {
            "output": output,
            "centers": model.centers.tolist(),
            "weights": model.weights.tolist(),
            "spreads": model.spreads.tolist(),
            "units": model.units.tolist(),
            **model.facts,
        }
    )
