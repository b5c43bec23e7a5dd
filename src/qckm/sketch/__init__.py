"""Rows and an operator go in, a sum comes out: sketches, their files, checkpoints, groups."""

from qckm.sketch.sketch import Sketch, SketchOperator, sketch_batches, sketch_source

__all__ = ["Sketch", "SketchOperator", "sketch_batches", "sketch_source"]
