"""Model: centroids as a file people and programs can read: JSON, CSV, Parquet or .npz, by the name's ending."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm import files
from qckm.decode import Clustering
from qckm.errors import FileError
from qckm.operator import SketchOperator
from qckm.rows import Floats, as_rows

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

FORMAT = "qckm-model/1"
_ARRAYS = ("centers", "weights", "spreads", "units")


@dataclass(frozen=True, eq=False)
class Model:
    """K centroids with what is needed to use them, and facts about where they come from.

    Parameters
    ----------
    centers : ndarray of shape (K, n)
        In data units.
    weights : ndarray of shape (K,)
        Shares of the rows.
    spreads : ndarray of shape (K,)
        Standard deviation of each cluster in one direction, in units; 0 where the decoder models points.
    units : ndarray of shape (n,)
        What distances count in, column by column: ones, or the standard deviations.
    feature_names : tuple of str, optional
    facts : dict
        What JSON can hold: rows read, settings, timings. Not needed for predicting.

    Examples
    --------
    >>> import numpy as np
    >>> model = Model(np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([0.5, 0.5]), np.zeros(2), np.ones(2))
    >>> model.predict([[1.0, 0.0], [4.0, 6.0]]).tolist()
    [0, 1]
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    units: Floats
    feature_names: tuple[str, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k, n = self.centers.shape
        shapes = self.weights.shape, self.spreads.shape, self.units.shape
        if shapes != ((k,), (k,), (n,)) or k < 1 or n < 1:
            raise FileError(f"Expected weights and spreads ({k},) and units ({n},), got {shapes}.")
        if self.feature_names is not None and len(self.feature_names) != n:
            raise FileError(f"Expected {n} feature names, got {len(self.feature_names)}.")
        if not (np.isfinite(self.centers).all() and np.isfinite(self.units).all() and (self.units > 0).all()):
            raise FileError("Expected finite centroids and units > 0.")

    @classmethod
    def of(cls, clustering: Clustering, operator: SketchOperator, facts: dict[str, Any] | None = None) -> Model:
        """Return the model of what a decoder found."""
        return cls(
            clustering.centers,
            clustering.weights,
            clustering.spreads,
            operator.units,
            operator.feature_names,
            facts or {},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers where they have none."""
        return self.feature_names or tuple(map(str, range(self.centers.shape[1])))

    def nearest(self, X: Any, n_jobs: int | None = None) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the nearest centroid of each row X: (rows, n), and the distance to it, in units."""
        from qckm.nearest import nearest  # numba takes its time to import

        rows = as_rows(X, self.centers.shape[1])
        if (self.units == 1).all():
            labels, squares = nearest(rows, self.centers, n_jobs)
        else:
            labels, squares = nearest(rows / self.units, self.centers / self.units, n_jobs)
        return labels, np.sqrt(squares)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row X: (rows, n)."""
        return self.nearest(X)[0]

    def to_sklearn(self) -> KMeans:
        """Return a fitted scikit-learn `KMeans` with these centroids, e.g. for ONNX by skl2onnx.

        Its distances are plain ones: of a standardised model it expects standardised rows, X / units.
        """
        from sklearn.cluster import KMeans

        k, n = self.centers.shape
        centers = np.ascontiguousarray(self.centers / self.units)
        # Fitted from its own centroids and stopped at once: every attribute KMeans has is then there.
        kmeans = KMeans(k, init=centers, n_init=1, max_iter=1).fit(centers)
        kmeans.cluster_centers_ = centers
        kmeans.labels_ = np.arange(k, dtype=np.int32)
        kmeans.n_features_in_ = n
        if self.feature_names is not None:
            kmeans.feature_names_in_ = np.array(self.feature_names, object)
        return kmeans

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model atomically, in the format of the name's ending."""
        files.write_atomically(path, writer_for(path)(self))


def to_json(model: Model) -> bytes:
    """Return the model as JSON, all of it."""
    content = {
        "format": FORMAT,
        "n_clusters": len(model.centers),
        "feature_names": model.feature_names,
        "units": model.units.tolist(),
        "centers": model.centers.tolist(),
        "weights": model.weights.tolist(),
        "spreads": model.spreads.tolist(),
        "facts": model.facts,
    }
    return json.dumps(content, indent=1, allow_nan=False).encode() + b"\n"


def to_csv(model: Model) -> bytes:
    """Return the centroids as CSV: cluster, weight, spread, then the columns; a row "unit" above, if standardised."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cluster", "weight", "spread", *model.names])
    if (model.units != 1).any():
        writer.writerow(["unit", "", "", *map(float, model.units)])
    for number, center in enumerate(model.centers):
        writer.writerow([number, float(model.weights[number]), float(model.spreads[number]), *map(float, center)])
    return text.getvalue().encode()


def to_parquet(model: Model) -> bytes:
    """Return the centroids as a Parquet table, with the units and facts in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(np.arange(len(model.centers), dtype=np.int32)), pa.array(model.weights), pa.array(model.spreads)]
    arrays += [pa.array(np.ascontiguousarray(column)) for column in model.centers.T]
    notes = {"units": model.units.tolist(), "feature_names": model.feature_names, "facts": model.facts}
    schema = pa.schema(
        [
            pa.field(name, array.type)
            for name, array in zip(["cluster", "weight", "spread", *model.names], arrays, strict=True)
        ],
        metadata={FORMAT: json.dumps(notes)},
    )
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


def to_npz(model: Model) -> bytes:
    """Return the model as NumPy arrays."""
    out = io.BytesIO()
    notes = np.frombuffer(json.dumps({"feature_names": model.feature_names, "facts": model.facts}).encode(), np.uint8)
    np.savez(
        out, centers=model.centers, weights=model.weights, spreads=model.spreads, units=model.units, notes_json=notes
    )
    return out.getvalue()


def _from_json(data: bytes) -> Model:
    content = json.loads(data)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"expected the format {FORMAT!r}")
    centers, weights, spreads, units = (np.array(content[name], np.float64) for name in _ARRAYS)
    return Model(centers, weights, spreads, units, _names(content["feature_names"]), dict(content["facts"]))


def _from_csv(data: bytes) -> Model:
    lines = list(csv.reader(io.StringIO(data.decode())))
    if len(lines) < 2 or lines[0][:3] != ["cluster", "weight", "spread"]:
        raise FileError("expected a first line cluster,weight,spread,…")
    units = np.array([cell for line in lines[1:] if line[0] == "unit" for cell in line[3:]], np.float64)
    table = np.array([line[1:] for line in lines[1:] if line[0] != "unit"], np.float64)
    names = lines[0][3:]
    # Columns without names have their numbers; in older files they are "feature 0", "feature 1", …
    numbers = [str(number) for number in range(len(names))]
    known = None if [name.removeprefix("feature ") for name in names] == numbers else tuple(names)
    return Model(table[:, 2:], table[:, 0], table[:, 1], units if units.size else np.ones(len(names)), known)


def _from_parquet(data: bytes) -> Model:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    notes = json.loads((table.schema.metadata or {})[FORMAT.encode()])
    columns = [np.asarray(table.column(place).to_numpy(), np.float64) for place in range(1, table.num_columns)]
    centers = np.stack(columns[2:], axis=1)
    units = np.array(notes["units"], np.float64)
    return Model(centers, columns[0], columns[1], units, _names(notes["feature_names"]), dict(notes["facts"]))


def _from_npz(data: bytes) -> Model:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        notes = json.loads(arrays["notes_json"].tobytes())
        centers, weights, spreads, units = (np.array(arrays[name], np.float64) for name in _ARRAYS)
    return Model(centers, weights, spreads, units, _names(notes["feature_names"]), dict(notes["facts"]))


def _names(names: Any) -> tuple[str, ...] | None:
    return None if names is None else tuple(str(name) for name in names)


_WRITERS: dict[str, Callable[[Model], bytes]] = {
    ".json": to_json,
    ".csv": to_csv,
    ".parquet": to_parquet,
    ".npz": to_npz,
}
ENDINGS = tuple(_WRITERS)


def writer_for(path: str | os.PathLike[str]) -> Callable[[Model], bytes]:
    """Return what writes the format of a name's ending; refuse a name that has none of them."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in _WRITERS:
        raise FileError(f"{os.fspath(path)}: expected a name that ends in {', '.join(_WRITERS)}, got {ending!r}.")
    return _WRITERS[ending]


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file, whatever its name: the first bytes tell the format.

    Examples
    --------
    >>> import os, tempfile, numpy as np, qckm
    >>> model = Model(np.eye(2), np.array([0.5, 0.5]), np.zeros(2), np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.csv")
    ...     model.save(path)
    ...     qckm.load_model(path).centers.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with open(path, "rb") as file:
        data = file.read()
    return read_model(data, os.fspath(path))


def read_model(data: bytes, label: str) -> Model:
    """Read a model from bytes."""
    readers: dict[bytes, Callable[[bytes], Model]] = {b"PAR1": _from_parquet, b"PK": _from_npz, b"{": _from_json}
    read = next((reader for magic, reader in readers.items() if data.startswith(magic)), _from_csv)
    try:
        return read(data)
    except (ValueError, KeyError, TypeError, IndexError, OSError, zipfile.BadZipFile, RecursionError) as error:
        raise FileError(f"{label}: expected a model file of `qckm fit` or `qckm decode`: {error}") from error
