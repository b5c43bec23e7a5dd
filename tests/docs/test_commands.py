"""Every command of README and every tutorial runs, in order, in an empty folder."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "examples" / "tutorials").glob("plot_*.py"))
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page: Path) -> str:
    """Return a page's shell and Python blocks as one shell script that stops at the first failure."""
    parts = ["set -eu"]
    for language, text in BLOCK.findall(page.read_text()):
        parts.append(text if language == "sh" else f"python - <<'END_OF_PYTHON'\n{text}END_OF_PYTHON\n")
    return "\n".join(parts)


def test_the_commands_of_readme_run_in_an_empty_folder(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    script = commands(ROOT / "README.md")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **one_thread, "PATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "True\nFalse\n" in done.stdout  # converged; not drifted
    assert done.stderr.count("warning") == 0, done.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert {"all.qckm", "without-paris.qckm", "model.json", "labels.csv", "window.qckm", "report.html"} <= written


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run_in_an_empty_folder(tutorial, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(tutorial))
    assert pyplot.get_fignums()  # it ends in a picture
    pyplot.close("all")


def test_there_are_three_tutorials():
    assert [path.stem for path in TUTORIALS] == ["plot_sensors", "plot_shops", "plot_stream"]
