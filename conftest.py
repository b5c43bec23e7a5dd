"""Examples in the docstrings of an engine's module are run where the engine is installed."""

from importlib.util import find_spec

LIBRARIES = {"dask": "distributed", "spark": "pyspark", "ray": "ray"}
collect_ignore = [
    f"src/qckm/engines/{engine}.py" for engine, library in LIBRARIES.items() if find_spec(library) is None
]
