"""Rows that Dask, Spark or Ray hold go in, the same sum comes out. None is imported before it is asked for."""

from __future__ import annotations

import contextlib
import importlib
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from qckm.common.text import public_name
from qckm.engines.clusters import Cluster
from qckm.engines.partitions import EngineRows, Partitions
from qckm.errors import MissingExtraError, SourceError
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import OnBad, engine_of

__all__ = ["ENGINES", "Cluster", "Partitions", "connect", "import_engine", "open_partitions", "parse_engine", "sketch"]

ENGINES = ("dask", "spark", "ray")
_MODULES = {"gpu": "gpu_rows"}  # arrays on a GPU are no cluster, but held elsewhere as well


def import_engine(name: str) -> Any:
    """Import `qckm.engines.<name>`; where the engine is not installed, say what to install."""
    if name not in (*ENGINES, *_MODULES):
        raise SourceError(f"Expected an engine among {', '.join(ENGINES)}, got {name!r}.")
    try:
        return importlib.import_module(f"qckm.engines.{_MODULES.get(name, name)}")
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'{name} is not installed ({error}): pip install "qckm[{name}]"') from error


def parse_engine(engine: str) -> tuple[str, str | None]:
    """Return the name of an engine and the address that it knows; None: on the cores of this machine.

    Examples
    --------
    >>> parse_engine("dask"), parse_engine("dask://host:8786"), parse_engine("sc://host:15002")
    (('dask', None), ('dask', 'tcp://host:8786'), ('spark', 'sc://host:15002'))
    >>> parse_engine("spark://host:7077"), parse_engine("spark:yarn"), parse_engine("ray:auto")
    (('spark', 'spark://host:7077'), ('spark', 'yarn'), ('ray', 'auto'))
    """
    name, colon, rest = engine.partition(":")
    if name == "sc" and rest.startswith("//"):
        return "spark", engine
    if name not in ENGINES or (colon and not rest.strip("/")):
        known = (
            "dask, spark or ray, or an address: dask://host:8786, spark://host:7077, sc://host:15002, ray://host:10001"
        )
        raise SourceError(f"Expected {known}, got {public_name(engine)!r}.")
    if rest.startswith("//"):
        return name, f"tcp:{rest}" if name == "dask" else engine
    return name, rest or None


@contextlib.contextmanager
def connect(engine: str) -> Iterator[Cluster]:
    """Give a cluster whose workers read files themselves, for `qckm.engines.files.FileRows`.

    Parameters
    ----------
    engine : str
        "dask", "spark" or "ray": the cores of this machine. "dask://host:8786", "spark://host:7077", "sc://host:15002"
        (Spark Connect), "ray://host:10001": a cluster. What else an engine takes as an address follows its name:
        "spark:yarn", "spark:local[2]", "ray:auto".
    """
    name, address = parse_engine(engine)
    module = import_engine(name)
    if address is not None:
        _require_listener(engine, address)
    with module.connect(address) as cluster:
        yield cluster


# The ports that engines listen at, where an address names none.
_PORTS = {"tcp": 8786, "spark": 7077, "sc": 15002, "ray": 10001}
_PATIENCE = 10.0  # seconds, for a cluster that starts


def _require_listener(engine: str, address: str) -> None:
    """Refuse an address where nobody listens: Spark would try for minutes, and say nothing that helps."""
    kind, _, places = address.partition("://")
    if kind not in _PORTS or not places:
        return
    until = time.monotonic() + _PATIENCE
    while True:
        for place in places.split("/")[0].split(","):  # masters of Spark of which one stands in for another
            found = urlsplit(f"//{place}")
            try:
                socket.create_connection((found.hostname, found.port or _PORTS[kind]), _PATIENCE).close()
                return
            except (OSError, ValueError) as error:
                words = str(getattr(error, "strerror", None) or error)
        if time.monotonic() > until:
            raise SourceError(
                f"Expected a cluster at {public_name(engine)}, got: {words}. Start it, or check host and port: "
                "they must be reachable from here."
            )
        time.sleep(0.5)


def open_partitions(
    data: object,
    columns: Sequence[str] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: object = None,
) -> EngineRows:
    """Return the rows that an engine holds: Dask arrays, frames and bags, Spark DataFrames, Ray datasets.

    `usual` are the columns to read where none are asked for, if they are all there: those of an operator.
    """
    engine = engine_of(data)
    if engine is None:
        raise SourceError(f"Expected rows held by {', '.join(ENGINES)}, got {type(data).__name__}.")
    found: EngineRows = import_engine(engine).open_partitions(data, columns, usual, sample_weight)
    return found


def sketch(
    operator: SketchOperator,
    data: object,
    columns: Sequence[str] | str | None = None,
    sample_weight: object = None,
    on_bad: OnBad = "error",
    n_jobs: int | None = None,
    usual: Sequence[str] | None = None,
) -> Sketch:
    """Sketch rows where they are: one per partition, added up in a tree. `op.sketch` and `sketch_source` call this.

    Parameters
    ----------
    operator : SketchOperator
    data : Dask array, data frame or bag; Spark DataFrame; Ray dataset
    columns : sequence of str, optional
        The columns to read. A single name, of a Spark DataFrame or a Ray dataset, is a column of vectors.
    sample_weight : optional
        One weight per row: a Dask array or series of the same partitions; the name of a column in Spark and Ray.
    on_bad : {"error", "skip"}
        Rows with a null, NaN or infinity: refuse, or leave out and count in `skipped`.
    n_jobs : int, optional
        Threads of one task, 1 by default: the engine runs a task on each core.
    usual : sequence of str, optional
        The columns to read where none are asked for, if they are all there.

    Returns
    -------
    Sketch
    """
    return open_partitions(data, columns, usual, sample_weight).sketch(operator, on_bad, n_jobs)
