"""Rows and an operator go in, a sum comes out: sketches, their files, runs over sources, checkpoints, groups."""

from qckm.sketch.sketch import Sketch, SketchOperator, sketch_batches

__all__ = ["Sketch", "SketchOperator", "sketch_batches"]
