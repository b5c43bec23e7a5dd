"""Batches of rows from wherever they are: arrays, frames, Parquet, CSV, Arrow, NumPy files, standard input."""

from qckm.sources.opening import open_source, paths_of
from qckm.sources.pilot import sample_rows
from qckm.sources.source import Batch, Position, Source, Stamp

__all__ = ["Batch", "Position", "Source", "Stamp", "open_source", "paths_of", "sample_rows"]
