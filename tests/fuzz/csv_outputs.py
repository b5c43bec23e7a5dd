"""Texts of all kinds that are written to a CSV, read back by Python's reader and by ours: a row is one record."""

import csv
import io
import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa

from qckm.cli.outputs import writing_columns
from qckm.errors import SourceError
from qckm.models import Model, read_model, to_csv
from qckm.sources.opening import open_source

_PIECES = (
    "=", "+", "-", "@", "＝", "'", '"', '""', ",", ";", "\t", "\r", "\n", "\r\n", " ", "a", "1", "-5.25", "1e9", "é",
    "NaN", "cluster", "weight", "unit", "0", "\x00", "\x1b[31m", "#", "\ufeff", "١", "=cmd|' /C calc'!A0",
)  # fmt: skip
EXAMPLES = {
    "plain": json.dumps({"name": "id", "texts": ["a", "b"]}).encode(),
    "odd": json.dumps({"name": "=id", "texts": ["bare\rreturn", "'=1", "", "-1", "+x"]}).encode(),
}


def make(rng: random.Random) -> bytes:
    """Return the name of a column and its texts, as JSON."""

    def text(most: int) -> str:
        return "".join(rng.choice(_PIECES) for _ in range(rng.randint(0, most)))

    return json.dumps({"name": text(3) or "x", "texts": [text(5) for _ in range(rng.randint(1, 6))]}).encode()


def check(data: bytes, folder: Path) -> None:
    """Write; all texts come back, none is a formula, and our own reader finds as many rows, with the same labels."""
    content = json.loads(data)
    name, texts = content["name"], content["texts"]
    if name == "cluster" or "\x00" in "".join([name, *texts]):
        raise SourceError("not a column that predict keeps, or a text that CSV readers do not agree on")
    path = folder / "labels.csv"
    schema = pa.schema([pa.field(name, pa.string())])
    with writing_columns(str(path), {"cluster": np.dtype(np.int32)}, schema) as write:
        kept = pa.table([pa.array(texts, pa.string())], schema)
        write([np.arange(len(texts), dtype=np.int32)], None, kept)
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file, strict=True)
    assert len(lines) == len(texts)
    assert [_as_it_was(cell) for cell in header] == [name, "cluster"]
    for (cell, label), (number, text) in zip(lines, enumerate(texts), strict=True):
        assert (_as_it_was(cell), label) == (text, str(number))
        assert _is_number(cell) or not _begins_as_formula(cell)
    ours = np.concatenate([batch.rows for batch in open_source(str(path), columns=["cluster"]).batches()])
    assert ours[:, 0].tolist() == list(range(len(texts)))
    model = Model(np.zeros((2, 1)), np.full(2, 0.5), np.zeros(2), np.ones(1), (name,))
    written = to_csv(model)
    assert read_model(written, "x").feature_names == (name,)
    heading = next(csv.reader(io.StringIO(written.decode(), newline=""), strict=True))[3]
    assert not _begins_as_formula(heading)


def _as_it_was(cell: str) -> str:
    stem = cell.lstrip("'")
    return cell[1:] if cell.startswith("'") and _begins_as_formula(stem) and not _is_number(stem) else cell


def _begins_as_formula(text: str) -> bool:
    return text.lstrip(" \ufeff").startswith(tuple("=+-@＝＋－＠\t\r\n"))


def _is_number(text: str) -> bool:
    text = text.strip()
    plain = text.lstrip("+-")
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and (plain[:1].isdigit() or (plain[:1] == "." and plain[1:2].isdigit()))
