"""Clustering for data nobody can keep: one-pass sketches, and k-means from the sketch alone."""

from qckm import signatures
from qckm.operator import SketchOperator
from qckm.sketch import Sketch, sketch_batches

__version__ = "0.1.0"
__all__ = ["Sketch", "SketchOperator", "signatures", "sketch_batches"]
