"""Compiled code on disk: found again, never stale or damaged, and not missed where there is no room for it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from qckm.kernels import native

CODE = """
import sys
import numpy as np, qckm
assert not {"numba", "llvmlite"} & set(sys.modules), "import qckm must not wait for compilers"
op = qckm.SketchOperator.draw(3, 4, 1.0, random_state=0)
print(op.sketch(np.ones((5, 3))).total.tolist(), "numba" in sys.modules)
"""


def run(folder, **environment):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    total, imported = done.stdout.strip().rsplit(" ", 1)
    return total, imported == "True"


def test_a_later_process_loads_what_an_earlier_one_compiled_or_compiles_what_is_damaged(tmp_path):
    first, compiled = run(tmp_path)
    assert compiled
    files = sorted(tmp_path.glob("*.o"))
    assert len(files) == 2, "coding, and summing bits"
    assert run(tmp_path) == (first, False)
    files[0].write_bytes(files[0].read_bytes()[:-1] + b"?")
    assert run(tmp_path) == (first, True)
    assert run(tmp_path) == (first, False)


def test_no_folder_is_no_problem(tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("in the way")
    assert run(nowhere / "folder")[1]
    assert not list(tmp_path.glob("**/*.o"))


def test_names_depend_on_the_types(monkeypatch):
    assert native._digest("a", "int64") != native._digest("a", "none")


def test_folders_in_order_of_preference(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert [folder.name for folder in native._folders()] == ["__pycache__", "qckm"]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert list(native._folders()) == [tmp_path]


@pytest.mark.parametrize("argument, kind", [(3, "int64"), (None, "none"), (np.dtype("float32"), "float32")])
def test_kinds(argument, kind):
    assert native._kind(argument) == kind
