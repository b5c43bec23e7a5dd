"""Troubleshooting names every warning, error, remark and hint; the cheat sheet every parameter of the estimator."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import qckm
from qckm import errors
from qckm.cli.console import HINTS
from qckm.kernels.library import SlowKernelWarning

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "troubleshooting.md").read_text().split())
CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, (errors.QckmError, Warning))
]


def sentences(module: str, everywhere: bool):
    """Yield the fixed parts, of four words or more, of what a module says to users: its constants, or all its texts."""
    tree = ast.parse((ROOT / "src" / "qckm" / "decoding" / f"{module}.py").read_text())
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    places = [tree] if everywhere else [node for node in tree.body if isinstance(node, ast.Assign)]
    for node in (node for place in places for node in ast.walk(place)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            part = " ".join(node.value.split())
            if len(part.split()) >= 4:
                yield part


@pytest.mark.parametrize("kind", [*CLASSES, SlowKernelWarning], ids=lambda kind: kind.__name__)
def test_every_error_and_warning_is_explained(kind):
    assert f"`{kind.__name__}`" in PAGE


@pytest.mark.parametrize("module, everywhere", [("verdict/remarks", True)])
def test_every_remark_is_explained(module, everywhere):
    said = list(sentences(module, everywhere))
    assert len(said) >= 4
    assert not [part for part in said if part not in PAGE]


def test_every_hint_of_the_command_line_is_explained():
    plain = PAGE.replace("`", "")
    assert not [topic for topic in HINTS if f"| {topic} |" not in plain]
    flags = {flag for words in HINTS.values() for flag in re.findall(r"--[a-z-]+", words)}
    assert not [flag for flag in flags if flag not in plain]


def test_the_cheat_sheet_has_every_parameter_of_the_estimator():
    sheet = (ROOT / "docs" / "cheat-sheet.md").read_text()
    names = inspect.signature(qckm.CompressiveKMeans).parameters
    assert not [name for name in names if f"`{name}`" not in sheet]
