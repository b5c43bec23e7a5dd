import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qckm.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with three clusters in two Parquet files and a CSV."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    rows = centers[rng.integers(3, size=3000)] + rng.normal(size=(3000, 2))
    for part in range(2):
        piece = rows[1500 * part : 1500 * (part + 1)]
        table = pa.table({"a": piece[:, 0], "b": piece[:, 1]})
        pq.write_table(table, tmp_path / f"part{part}.parquet", row_group_size=200)
    np.savetxt(tmp_path / "rows.csv", rows, header="a,b", comments="", delimiter=",", fmt="%.17g")
    np.save(tmp_path / "rows.npy", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def qckm_(capfdbinary):
    """Run the command line; return (exit code, stdout, stderr)."""

    def call(*words):
        code = run([str(word) for word in words])
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return code, out, err.decode()

    return call


@pytest.fixture
def facts(qckm_):
    """Run a verb with --json; return its summary."""

    def call(*words):
        code, out, err = qckm_(*words, "--json")
        assert code == 0, err
        return json.loads(out)

    return call
