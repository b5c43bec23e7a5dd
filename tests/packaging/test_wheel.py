"""What a stranger installs: sdist and wheel, in a clean environment, with a C compiler and without."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)  # downloads
ROOT = Path(__file__).parents[2]
SKETCH = """
import sys, warnings
warnings.simplefilter("default")
import numpy as np, qckm
from qckm.kernels import library
op = qckm.SketchOperator.draw(3, 50, 1.0, random_state=0)
X = np.random.default_rng(0).normal(size=(1000, 3))
for seed in range(3):  # each operator has a kernel of its own
    sketch = qckm.SketchOperator.draw(3, 50, 1.0, random_state=seed).sketch(X)
print(library.instructions(), int(sketch.total @ np.arange(100)))
"""


def run(*words, **environment):
    done = subprocess.run(
        [str(word) for word in words], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return the sdist, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="session")
def python(built, tmp_path_factory):
    """Return the Python of a new environment that has the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    run(os.environ.get("WHEEL_PYTHON", sys.executable), "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", built[1])
    return python


def reinstall(python, what, **environment):
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", what, **environment)


def sketch(python, folder):
    done = run(python, "-c", SKETCH, PYTHONPATH="", HOME=str(folder))
    instructions, total = done.stdout.split()
    return instructions, int(total), done.stderr


def test_the_sdist_has_all_that_its_tests_need(built):
    with tarfile.open(built[0]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for name in ("Makefile", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "conftest.py", "tests/conftest.py"):
        assert name in names
    assert not [name for name in names if name.endswith((".so", ".pyc")) or name.startswith((".venv", "build/"))]


def test_one_wheel_serves_every_python(built):
    assert re.search(r"-py3-none-(?!any)\w+\.whl$", built[1].name)
    with zipfile.ZipFile(built[1]) as archive:
        names = archive.namelist()
    assert any(re.fullmatch(r"qckm/kernels/qckm_core\.\w+", name) for name in names)
    assert not [name for name in names if name.endswith(".c")]


def test_the_readme_has_no_links_into_the_repository(built):
    with zipfile.ZipFile(built[1]) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        description = archive.read(metadata).decode()
    assert "# qckm" in description
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", description)


def test_the_oldest_build_backend_that_is_promised_builds_the_same(built, tmp_path):
    """What pyproject.toml requires at least, and no newer: the wheel has the same files."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    run(sys.executable, "-m", "venv", tmp_path / "old")
    python = tmp_path / "old" / "bin" / "python"
    oldest = [requirement.replace(">=", "==") + ".0" for requirement in required]
    run(python, "-m", "pip", "install", "--quiet", *oldest, "build", "cmake", "ninja")
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("qckm-*")
    path = f"{tmp_path / 'old' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    run(python, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "dist", folder, PATH=path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = [set(zipfile.ZipFile(one).namelist()) for one in (wheel, built[1])]
    assert names[0] == names[1]


def test_a_compiler_does_not_change_a_sum(built, python, tmp_path):
    """The wheel; the sdist without a compiler, with one warning; the sdist with one."""
    wheel = sketch(python, tmp_path)
    reinstall(python, built[0], CC="false")
    slow = sketch(python, tmp_path)
    reinstall(python, built[0])
    again = sketch(python, tmp_path)
    assert slow[0] == "numpy"
    assert slow[2].count("SlowKernelWarning") == 1
    assert wheel[0] != "numpy"
    assert wheel == again
    assert wheel[:2] == (wheel[0], slow[1])
    assert not wheel[2]


def test_the_command_line_clusters_a_file(python, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y\n" + "".join(f"{i % 2 * 10 + i / 1000},{i % 2 * 5}\n" for i in range(1000)))
    run(python.with_name("qckm"), "fit", rows, "-k", "2", "-o", tmp_path / "model.json", PYTHONPATH="")
    assert (tmp_path / "model.json").exists()


def test_the_sdist_tests_itself(built, python, tmp_path):
    """With the wheel that was installed; what needs the other packages of the extra "dev" is not tested here."""
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    run(python, "-m", "pip", "install", "--quiet", "pytest", "pytest-timeout", "hypothesis", "pandas", "polars")
    some = [folder / "tests" / name for name in ("kernels", "operator", "sketch/test_files.py", "export/test_c.py")]
    run(
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        folder,
        "-c",
        folder / "pyproject.toml",
        *some,
    )
