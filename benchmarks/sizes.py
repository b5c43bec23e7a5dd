"""How many bytes does a night take, alone and in a table of a year; how long is it read, written and regenerated?"""

from __future__ import annotations

import io
import json
import statistics
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qckm
from benchmarks.timing import Row, Rows, seconds
from qckm import files
from qckm.operator.codes import Codes, Recipe
from qckm.planning.plan import Plan, draw_operator
from qckm.sketch.old_files import PREAMBLE, layout
from qckm.sources.opening import open_source

SHOPS, DAYS = 40, 365
_ROWS, _PARTS = 100_000, 10  # of a night, and of how many sketches of a pool it is the sum


def rows() -> Rows:
    """Yield bytes and milliseconds of the night of issue and README: ten columns, ten kinds of customers."""
    kinds = 3 * np.random.default_rng(0).normal(size=(10, 10))
    for m, target in ((500, 2.5), (2000, 9.0)):
        night = _operator(kinds, m).sketch(_customers(kinds, _ROWS, 1))
        data = files.dumps(night)
        parts = ", ".join(f"{name} {size}" for name, size in files.sizes(data).items())
        what = f"n = 10, m = {m}, 10⁵ rows"
        yield Row(f"a night, {what}", target, len(data) / 1000, "kB", True, parts)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "night.qckm"
            night.save(path)
            for verb, work in (
                ("write", lambda night=night, path=path: night.save(path)),
                ("read", lambda path=path: qckm.load(path)),
            ):
                taken = 1000 * statistics.median(seconds(work, time.process_time) for _ in range(51))
                yield Row(f"{verb} it, {what}", 2.0, taken, "ms", True, "processor time: the disk's own is not counted")
    for n, m, target in ((10, 2000, 5.0), (784, 10_000, 500.0)):
        recipe = Recipe(n, m, 5, 3 * n, np.full(n, 900 << 16))
        taken = 1000 * statistics.median(
            seconds(lambda r=recipe: Codes.made_from(r), time.process_time) for _ in range(9)
        )
        yield Row(f"make frequencies from a recipe, n = {n}, m = {m}", target, taken, "ms", True)
    yield from _year(kinds)


def _year(kinds: np.ndarray) -> Rows:
    """Yield the bytes of a Parquet file of all nights of all shops, as files of version 2 were and as they are."""
    operator, rng = _operator(kinds, 500), np.random.default_rng(2)
    pool = [operator.sketch(_customers(kinds, _ROWS // _PARTS, seed)) for seed in range(200)]
    nights = [sum(pool[i] for i in rng.choice(200, _PARTS, replace=False)) for _ in range(SHOPS * DAYS)]
    # Zstandard finds the operator that every old file repeats: there, what is left to gain is the coding of the sums.
    for compression, target in (("none", 0.5), ("zstd", 1.0)):
        before = _parquet_bytes([as_version_2(night) for night in nights], compression)
        after = _parquet_bytes([files.dumps(night) for night in nights], compression)
        note = f"{before / 1e6:.0f} MB as version 2"
        what = f"{DAYS} days of {SHOPS} shops in one Parquet, compression {compression}: of what it was"
        yield Row(what, target, after / before, "×", True, f"{after / 1e6:.1f} MB; {note}")


def _operator(kinds: np.ndarray, m: int) -> qckm.SketchOperator:
    plan = Plan(n_clusters=10, n_frequencies=m, seed=0)
    return draw_operator(open_source(_customers(kinds, 5000, 0)), plan, False).operator


def _customers(kinds: np.ndarray, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([5, seed])
    return kinds[rng.integers(len(kinds), size=count)] + rng.normal(size=(count, kinds.shape[1]))


def _parquet_bytes(blobs: list[bytes], compression: str) -> int:
    table = pa.table({"shop": [i % SHOPS for i in range(len(blobs))], "sketch": blobs})
    out = io.BytesIO()
    pq.write_table(table, out, compression=compression, use_dictionary=["shop"])
    return out.tell()


def as_version_2(sketch: qckm.Sketch) -> bytes:
    """Return the file of version 2 that a sketch with sums of its columns was written as: nobody else writes it now."""
    op, sums = sketch.operator, sketch.column_sums
    n = op.n_features
    arrays = {
        **{"frequency_codes": op.frequency_codes, "dither_codes": op.dither_codes, "steps": op.steps},
        **{"origin": op.origin, "units": op.units, "lower": sketch.bounds[0], "upper": sketch.bounds[1]},
        **{"sum": sketch.total, ("column_sums", "codes"): sums.codes, ("column_sums", "squares"): sums.squares},
    }
    described = [["codes", "<i8", [2, n]], ["squares", "<i8", [2, n]]]
    header = {
        **{"arithmetic": op.arithmetic, "count": sketch.count, "dither": op.dither, "feature_names": None},
        **{"fingerprint": op.fingerprint, "law": op.law, "n_features": n, "n_frequencies": op.n_frequencies},
        **{"saturated": sketch.saturated, "scale": op.scale, "signature": op.signature.name, "skipped": 0},
        **{"sum": "int64", "table": False},
        "extensions": [{"name": "column_sums", "required": False, "facts": {}, "arrays": described}],
    }
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    body = PREAMBLE.pack(files.MAGIC, 2, len(text)) + text
    body += b"".join(np.asarray(arrays[name]).astype(kind).tobytes() for name, kind, _ in layout(header))
    return body + sha256(body).digest()
