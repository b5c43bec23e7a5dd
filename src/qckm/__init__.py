"""Clustering for data nobody can keep: one-pass sketches, and k-means from the sketch alone."""

from qckm import errors, signatures
from qckm.decode import Clustering, decode
from qckm.estimator import CompressiveKMeans
from qckm.files import load
from qckm.frequencies import Law
from qckm.operator import SketchOperator
from qckm.signatures import Signature
from qckm.sketch import Sketch, sketch_batches

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
