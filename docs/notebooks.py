"""Write the tutorials as notebooks, run, with their pictures: python docs/notebooks.py (`make notebooks`).

A tutorial is a script of cells (`# %%`), with comments that are text. The notebook beside it holds the same cells and
what they print and draw. tests/docs/test_notebooks.py misses a notebook that is not of its script, and runs it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).parents[1] / "examples" / "tutorials"


def cells_of(script: Path) -> list[tuple[str, str]]:
    """Return the cells of a script, as pairs of "markdown" or "code" and the text."""
    source = script.read_text()
    title, _, *text = (ast.get_docstring(ast.parse(source)) or "").split("\n")
    cells = [("markdown", _as_markdown("\n".join([f"# {title}", *text])))]
    for block in source.split("\n# %%\n")[1:]:
        lines = block.split("\n")
        prose = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
        cells.append(("markdown", _as_markdown("\n".join(line.removeprefix("#")[1:] for line in lines[:prose]))))
        code = "\n".join(lines[prose:]).strip()
        cells += [("code", code)] if code else []
    return cells


def _as_markdown(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", text).strip()


def run(cells: list[tuple[str, str]]) -> list[list[dict[str, Any]]]:
    """Run the code of cells in an empty folder; return what each printed and drew, as a notebook holds it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.show = lambda: None
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for kind, text in cells:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text if kind == "code" else "", "<cell>", "exec"), names)
            found: list[dict[str, Any]] = []
            if printed.getvalue():
                found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
            for number in plt.get_fignums():
                data = io.BytesIO()
                plt.figure(number).savefig(data, format="png", dpi=72)
                picture = {"image/png": base64.b64encode(data.getvalue()).decode(), "text/plain": ["<Figure>"]}
                found.append({"output_type": "display_data", "data": picture, "metadata": {}})
            plt.close("all")
            outputs.append(found)
    return outputs


def notebook_of(cells: list[tuple[str, str]], outputs: list[list[dict[str, Any]]]) -> str:
    """Return a notebook as JSON."""
    out: list[dict[str, Any]] = []
    count = 0
    for number, ((kind, text), found) in enumerate(zip(cells, outputs, strict=True)):
        cell: dict[str, Any] = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": _lines(text)}
        if kind == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": found}
        out.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": out, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for script in sorted(TUTORIALS.glob("plot_*.py")):
        cells = cells_of(script)
        script.with_suffix(".ipynb").write_text(notebook_of(cells, run(cells)))
        print(os.path.relpath(script.with_suffix(".ipynb")))
