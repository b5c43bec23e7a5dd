"""What is worth knowing of a sketch: a line for people, facts for --json and for models."""

from __future__ import annotations

from qckm.cli.console import Console
from qckm.common.text import format_bytes
from qckm.sketch import Sketch, SketchOperator


def remark(sketch: Sketch, console: Console) -> None:
    """Say what the user should know of a sketch: rows that were left out or clipped."""
    if sketch.skipped:
        console.say(f"skipped {sketch.skipped:,} bad rows")
    if sketch.saturated:
        share = sketch.saturated / sketch.count
        console.say(
            f"{sketch.saturated:,} rows ({share:.2%}) lie farther from the origin than can be coded, and were clipped: "
            "if they matter, use the logarithm of columns with long tails, a larger --scale, or the pilot's, which "
            "also finds the origin"
        )


def operator_facts(operator: SketchOperator) -> dict[str, object]:
    """Return what is worth knowing of an operator."""
    return {
        "features": operator.n_features,
        "feature_names": operator.feature_names,
        "frequencies": operator.n_frequencies,
        "measurements": operator.n_measurements,
        "signature": operator.signature.name,
        "dither": operator.dither,
        "law": operator.law,
        "scale": operator.scale,
        "octaves": operator.octaves,
        "standardized": bool((operator.units != 1).any()),
        "fingerprint": operator.fingerprint,
    }


def summary(sketch: Sketch, n_bytes: int, source_bytes: int | None) -> str:
    """Return one line about a sketch."""
    shrunk = (
        f", {source_bytes / n_bytes:,.0f} times less than the data" if source_bytes and source_bytes > n_bytes else ""
    )
    return f"{sketch.count:,} row{'s' * (sketch.count != 1)} in {format_bytes(n_bytes)}{shrunk}"
