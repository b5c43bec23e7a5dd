"""What `decode` and `fit` share: from a sketch to a model, and the model to where it is wanted."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from qckm.cli.console import DONE, DOUBTFUL, FAILED, Console, with_remedy, write_bytes
from qckm.cli.options import assumption_in_words
from qckm.cli.sketches import counted, summary
from qckm.common.text import excess_in_words, format_duration
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.gaussian_mixture import CovarianceType, FittedMixture, fit_mixture
from qckm.decoding.targets.kmeans import decode_hinted
from qckm.decoding.verdict.remarks import POOR_FIT, POOR_MIXTURE
from qckm.decoding.watching import Step, watching
from qckm.errors import PoorFitWarning, Remark, RemarkWarning, SaturationWarning, codes_of
from qckm.models import Model, to_csv, to_json, writer_for
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch


@contextlib.contextmanager
def decoding(console: Console, stoppable: bool = False) -> Iterator[None]:
    """Show the steps of what is decoded inside; if it is stoppable, the first Ctrl-C ends its search, the second us.

    What it warns of is said in the tool's own voice.
    """
    began = time.monotonic()
    with console.showing("decoding", spinner=True) as show, _stopping(console if stoppable else None) as stopped:

        def words(step: Step) -> str:
            many = f", {step.evaluations:,} evaluations" if step.evaluations else ""
            return f"{step.stage}{many}, {format_duration(time.monotonic() - began)}"

        def watch(step: Step) -> bool:
            show(partial(words, step))
            return stopped()

        with warnings.catch_warnings(), watching(watch):
            for kind in (PoorFitWarning, RemarkWarning, SaturationWarning):
                warnings.simplefilter("ignore", kind)
            yield


@contextlib.contextmanager
def _stopping(console: Console | None) -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed; without a console, Ctrl-C does what it does elsewhere."""
    if console is None or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        console.say("stopping: the best so far will be written; Ctrl-C once more stops at once")

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def decode_sketch(
    sketch: Sketch,
    n_clusters: int,
    decoder: str,
    n_init: int,
    seed: int,
    console: Console,
    hints: Pilot | None = None,
    remarks: Sequence[str] = (),
    assumptions: Sequence[str] = (),
) -> tuple[Clustering, dict[str, object], float]:
    """Decode with the rows of a sample where there is one; return what was found, facts of it, and the seconds taken.

    `remarks` are those on the rows, which are told with the decoder's, `assumptions` those made on opening them.
    """
    began = time.perf_counter()
    with decoding(console, stoppable=decoder != "clompr"):
        found = decode_hinted(sketch, n_clusters, hints, decoder=decoder, n_init=n_init, random_state=seed)
    found = replace(found, remarks=_joined(found.remarks, remarks))
    if found.converged is False:
        console.warn(POOR_FIT)
    for remark in found.remarks:
        console.warn(remark)
    return found, {**_facts(found, assumptions), "decoder": decoder}, time.perf_counter() - began


def _joined(remarks: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return remarks and more of them, without a second one about a column."""
    told = set(map(_column, remarks)) - {None}
    return (*remarks, *(one for one in more if one not in remarks and _column(one) not in told))


def _column(remark: str) -> str | None:
    return remark.values.get("column") if isinstance(remark, Remark) else None


def fit_sketch(
    sketch: Sketch,
    n_components: int,
    covariance_type: CovarianceType,
    n_init: int,
    seed: int,
    console: Console,
    hints: Pilot | None = None,
) -> tuple[FittedMixture, dict[str, object], float]:
    """Do the same for a mixture."""
    began = time.perf_counter()
    with decoding(console):
        found = fit_mixture(sketch, n_components, covariance_type, hints, n_init, seed)
    if not found.converged:
        console.warn(POOR_MIXTURE)
    return found, {**_facts(found), "decoder": f"mixture {covariance_type}"}, time.perf_counter() - began


def _facts(fitted: Clustering | FittedMixture, assumptions: Sequence[str] = ()) -> dict[str, object]:
    """Return what is worth knowing of a clustering, or a mixture, beside what it is; and of how rows were read."""
    facts: dict[str, object] = {
        "objective": fitted.objective,
        "explained": fitted.explained,
        "converged": fitted.converged,
        "evaluations": fitted.n_iter,
    }
    if isinstance(fitted, Clustering):
        said = [*map(with_remedy, fitted.remarks), *map(assumption_in_words, assumptions)]
        facts |= {"remarks": said} if said else {}
        if fitted.inertia is not None:
            facts |= {"inertia_estimate": fitted.inertia, "inertia_error": fitted.inertia_error}
        facts |= {} if fitted.excess is None else {"excess": fitted.excess, "excess_high": fitted.excess_high}
        facts |= {} if fitted.octave is None else {"octave": fitted.octave}
    elif np.isfinite(fitted.excess_high):
        facts |= {"excess_nats": fitted.excess, "excess_nats_high": fitted.excess_high}
    return facts


def say_found(
    fitted: Clustering | FittedMixture, sketch: Sketch, target: str, seconds: float, strict: bool, console: Console
) -> int:
    """Say what was written where, whether it is reliable, and how large the error is; return the exit code."""
    what = counted(len(fitted.weights), "centroid" if isinstance(fitted, Clustering) else "Gaussian")
    words = f"{what} of {summary(sketch)}, decoded in {format_duration(seconds)}"
    console.say(words if target == "-" else f"{target}: {words}")
    words = f"{_verdict(fitted)}; {max(fitted.explained, 0.0):.1%} of the sketch explained"
    if isinstance(fitted, Clustering):
        words += _sse_in_words(fitted)
    elif np.isfinite(fitted.excess_high):
        words += (
            f"; expected within {fitted.excess:.1g} nats per row of the best, hardly above {fitted.excess_high:.1g}"
        )
    console.say(words)
    if isinstance(fitted, Clustering) and "cut short" in codes_of(fitted.remarks):
        return FAILED  # after Ctrl-C: what was written is the best so far
    return DOUBTFUL if strict and not fitted.converged else DONE


def _verdict(fitted: Clustering | FittedMixture) -> str:
    """Return in words whether what was found is reliable, and how far from the best it is expected to be."""
    if fitted.converged is None:
        return "no verdict: this decoder gives none"
    words = "reliable" if fitted.converged else "doubtful, see the warning above"
    remarks = len(fitted.remarks) if isinstance(fitted, Clustering) else 0
    if fitted.converged and remarks:
        words += f", but see the warning{'s' * (remarks > 1)} above"
    if isinstance(fitted, Clustering) and fitted.excess is not None and fitted.excess_high is not None:
        words += f"; {excess_in_words(fitted.excess, fitted.excess_high)}"
    return f"verdict: {words}"


def _sse_in_words(found: Clustering) -> str:
    """Return the sum of squared distances, where it is known to a digit or so."""
    total, error = found.inertia, found.inertia_error
    if total is None or error is None or not total > 2 * error:
        return ""
    return f"; sum of squared distances (SSE) {f'about {total:.4g} ± {error:.1g}' if error else f'{total:.4g}'}"


def write_model(model: Model, output: str, console: Console) -> None:
    """Write the model to a file; to stdout as JSON if that is asked for or it is a mixture, else as CSV."""
    as_csv = output.lower().endswith(".csv") or (output == "-" and not console.json and model.covariances is None)
    if as_csv and (model.units != 1).any():
        console.say(
            "a CSV cannot hold the units of standardised columns: write .json if you want to label rows with the model"
        )
    if output != "-":
        write_bytes(output, writer_for(output)(model))
    elif not console.json:
        write_bytes(output, to_csv(model) if model.covariances is None else to_json(model))
    console.print_facts(
        {
            "output": output,
            "centers": model.centers.tolist(),
            "weights": model.weights.tolist(),
            "spreads": model.spreads.tolist(),
            "units": model.units.tolist(),
            **({} if model.covariances is None else {"covariances": model.covariances.tolist()}),
            **model.facts,
        }
    )
