"""Clusters go in, a file that people and programs read comes out, and back: JSON, CSV, Parquet or .npz."""

from qckm.models.as_csv import to_csv
from qckm.models.as_json import FORMAT, to_json
from qckm.models.as_npz import to_npz
from qckm.models.as_parquet import to_parquet
from qckm.models.formats import ENDINGS, load_model, read_model
from qckm.models.model import Model, writer_for

__all__ = [
    "ENDINGS",
    "FORMAT",
    "Model",
    "load_model",
    "read_model",
    "to_csv",
    "to_json",
    "to_npz",
    "to_parquet",
    "writer_for",
]
