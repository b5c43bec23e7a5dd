"""The tutorials are notebooks of their scripts, and run in any folder."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples" / "tutorials").glob("plot_*.py"))
_spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_is_that_of_its_script_and_has_its_pictures(script):
    cells = json.loads(script.with_suffix(".ipynb").read_text())["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == notebooks.cells_of(script)
    drawn = [output for cell in cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    assert drawn


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_runs_in_an_empty_folder(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(script.with_suffix(".ipynb").read_text())["cells"]
    found = notebooks.run([(cell["cell_type"], "".join(cell["source"])) for cell in cells])
    assert any("image/png" in output.get("data", {}) for outputs in found for output in outputs)
    assert list(tmp_path.iterdir()) == []


def test_no_sketch_lies_around():
    assert not list((ROOT / "examples").rglob("*.qckm"))
