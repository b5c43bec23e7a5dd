"""Clustering for data you cannot store, move or re-read: one-pass sketches, and k-means from the sketch alone."""

import importlib
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qckm import errors
from qckm.operator import signatures
from qckm.operator.laws import Law
from qckm.operator.signatures import Signature
from qckm.sketch import Sketch, SketchOperator, files, sketch_batches, sketch_source
from qckm.sketch.files import load
from qckm.sketch.sketch import register_planner
from qckm.sources.rows import GPU, register_engines

if TYPE_CHECKING:
    from qckm import engines as engines
    from qckm import plots as plots
    from qckm import privacy
    from qckm import sensor as sensor
    from qckm.decoding.clouds.calibration import Calibration, calibrate
    from qckm.decoding.targets.clustering import Clustering
    from qckm.decoding.targets.kmeans import decode
    from qckm.decoding.targets.n_clusters import ClusterCount, choose_n_clusters
    from qckm.drift.compare import compare, compare_windows
    from qckm.drift.drift_result import Drift, DriftSeries
    from qckm.drift.explanation import Cause, Explanation
    from qckm.drift.reference_rows import Reference
    from qckm.estimators.gaussian_mixture import CompressiveGaussianMixture
    from qckm.estimators.kmeans import CompressiveKMeans
    from qckm.estimators.pca import CompressivePCA
    from qckm.models import Model, load_model
    from qckm.sketch.grouping import sketch_by
    from qckm.sources.opening import open_source

__version__ = "0.1.0"
__all__ = [
    "Calibration",
    "Cause",
    "ClusterCount",
    "Clustering",
    "CompressiveGaussianMixture",
    "CompressiveKMeans",
    "CompressivePCA",
    "Drift",
    "DriftSeries",
    "Explanation",
    "Law",
    "Model",
    "Reference",
    "Signature",
    "Sketch",
    "SketchOperator",
    "calibrate",
    "choose_n_clusters",
    "compare",
    "compare_windows",
    "decode",
    "errors",
    "load",
    "load_model",
    "open_source",
    "privacy",
    "signatures",
    "sketch_batches",
    "sketch_by",
    "sketch_source",
]
# Imported when first asked for: decoders, scikit-learn and pyarrow take their time.
_LATE = {
    "Calibration": "qckm.decoding.clouds.calibration",
    "Cause": "qckm.drift.explanation",
    "ClusterCount": "qckm.decoding.targets.n_clusters",
    "Clustering": "qckm.decoding.targets.clustering",
    "CompressiveGaussianMixture": "qckm.estimators.gaussian_mixture",
    "CompressiveKMeans": "qckm.estimators.kmeans",
    "Drift": "qckm.drift.drift_result",
    "DriftSeries": "qckm.drift.drift_result",
    "Explanation": "qckm.drift.explanation",
    "CompressivePCA": "qckm.estimators.pca",
    "Model": "qckm.models",
    "Reference": "qckm.drift.reference_rows",
    "calibrate": "qckm.decoding.clouds.calibration",
    "choose_n_clusters": "qckm.decoding.targets.n_clusters",
    "compare": "qckm.drift.compare",
    "compare_windows": "qckm.drift.compare",
    "decode": "qckm.decoding.targets.kmeans",
    "load_model": "qckm.models",
    "open_source": "qckm.sources.opening",
    "sketch_by": "qckm.sketch.grouping",
}
# Packages with public names, imported likewise.
_PACKAGES = ("engines", "plots", "privacy", "sensor")
# Modules whose public address is shorter than that of their package: `from qckm.signatures import get`.
sys.modules[f"{__name__}.files"], sys.modules[f"{__name__}.signatures"] = files, signatures


def _open_partitions(
    data: object, columns: Sequence[Any] | str | None, usual: Sequence[str] | None, sample_weight: object
) -> Any:
    from qckm import engines

    return engines.open_partitions(data, columns, usual, sample_weight)


def _operator_from_pilot(*arguments: Any) -> SketchOperator:
    from qckm.planning.plan import operator_from_pilot

    return operator_from_pilot(*arguments)


# As libraries do: silent, unless the program that uses it says where messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())
register_planner(_operator_from_pilot)
register_engines({"dask": "dask", "pyspark": "spark", "ray": "ray", GPU: "gpu"}, _open_partitions)


def __getattr__(name: str) -> Any:
    """Import what takes seconds to import only for those who ask for it."""
    if name in _PACKAGES:
        return importlib.import_module(f"qckm.{name}")
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module 'qckm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, "__version__", "files"})
