"""Clustering for data nobody can keep: one-pass sketches, and k-means from the sketch alone."""

import importlib
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
    from qckm.grouping import sketch_by
    from qckm.models import Model, load_model
    from qckm.runs import sketch_source
    from qckm.selection import ClusterCount, choose_n_clusters
    from qckm.sources import open_source

__version__ = "0.1.0"
__all__ = [
    "ClusterCount",
    "Clustering",
    "CompressiveKMeans",
    "Law",
    "Model",
    "Signature",
    "Sketch",
    "SketchOperator",
    "choose_n_clusters",
    "decode",
    "errors",
    "load",
    "load_model",
    "open_source",
    "signatures",
    "sketch_batches",
    "sketch_by",
    "sketch_source",
]
# Imported when first asked for: scikit-learn and pyarrow take their time.
_LATE = {
    "ClusterCount": "qckm.selection",
    "CompressiveKMeans": "qckm.estimator",
    "Model": "qckm.models",
    "choose_n_clusters": "qckm.selection",
    "load_model": "qckm.models",
    "open_source": "qckm.sources",
    "sketch_by": "qckm.grouping",
    "sketch_source": "qckm.runs",
}


def __getattr__(name: str) -> Any:
    """Import what takes seconds to import only for those who ask for it."""
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module 'qckm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
