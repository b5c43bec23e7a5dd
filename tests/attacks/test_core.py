"""A library of other sources, which loaded without a word (issue 33, number 5): it is refused, with what to do."""

import os
import shutil
import subprocess
import sys

import pytest

from qckm.errors import QckmError
from qckm.kernels import library

pytestmark = pytest.mark.skipif(library.load() is None, reason="needs the C core")
needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")


def sketched(**environment):
    """Sketch in a process of its own; return its exit code and what it said."""
    code = (
        "import numpy as np, qckm; print(qckm.SketchOperator.draw(2, 5, 1.0, random_state=0).sketch(np.eye(2)).count)"
    )
    words = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def built(tmp_path, source):
    """Return a library of a few lines of C."""
    (tmp_path / "other.c").write_text(source)
    path = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, tmp_path / "other.c"], check=True)
    return str(path)


@needs_compiler
@pytest.mark.parametrize(
    "source, got",
    [
        ("int qckm_prepare(void) { return 0; }", "got none: it is no library of qckm's, or an older one"),
        ("long long qckm_abi(void) { return 99; } long long qckm_size_of(char *name) { return 8; }", "got 99"),
        (
            f"long long qckm_abi(void) {{ return {library.ABI}; }} long long qckm_size_of(char *name) {{ return 8; }}",
            "expected qckm_spec to have 120 bytes, got 8",
        ),
    ],
)
def test_5_a_library_of_other_sources_is_refused(tmp_path, source, got):
    code, said = sketched(QCKM_CORE=built(tmp_path, source))
    assert code == 1
    assert got in said
    assert "pip install --editable ." in said


def test_5_an_older_contract_is_refused(monkeypatch):
    monkeypatch.setattr(library, "ABI", library.ABI + 1)
    with pytest.raises(QckmError, match=f"expected a library of contract {library.ABI}, got {library.ABI - 1}"):
        library.load.__wrapped__()


def test_5_what_is_no_library_is_said_in_a_sentence(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    for path in (tmp_path / "text.so", tmp_path / "missing.so"):
        code, said = sketched(QCKM_CORE=str(path))
        assert code == 1
        assert f"QckmError: {path}: cannot be loaded" in said


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the environment is text")
def test_5_a_name_in_no_encoding_is_said_in_a_sentence():
    for variable in ("QCKM_CORE", "QCKM_INSTRUCTIONS"):
        code, said = sketched(**{variable: os.fsdecode(b"\xff.so")})
        assert code == 1
        assert "qckm.errors.QckmError" in said.splitlines()[-1]


def test_5_an_empty_name_is_no_name():
    assert sketched(QCKM_CORE="") == (0, "2\n")
