"""Clustering for data nobody can keep: one-pass sketches, and k-means from the sketch alone."""

from typing import TYPE_CHECKING, Any

from qckm import errors, signatures
from qckm.decode import Clustering, decode
from qckm.files import load
from qckm.frequencies import Law
from qckm.operator import SketchOperator
from qckm.signatures import Signature
from qckm.sketch import Sketch, sketch_batches

if TYPE_CHECKING:
    from qckm.estimator import CompressiveKMeans

__version__ = "0.1.0"
__all__ = [
    "Clustering",
    "CompressiveKMeans",
    "Law",
    "Signature",
    "Sketch",
    "SketchOperator",
    "decode",
    "errors",
    "load",
    "signatures",
    "sketch_batches",
]


def __getattr__(name: str) -> Any:
    """Import scikit-learn, which takes seconds, only for those who ask for its face."""
    if name == "CompressiveKMeans":
        from qckm.estimator import CompressiveKMeans

        return CompressiveKMeans
    raise AttributeError(f"module 'qckm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
