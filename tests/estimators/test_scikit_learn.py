"""What we use of scikit-learn that it does not promise to keep: known names, in versions that were tested."""

import ast
import importlib
from importlib import metadata
from pathlib import Path

import pytest
import sklearn
from packaging.requirements import Requirement

import qckm

PRIVATE = {
    "sklearn.base._fit_context",
    "sklearn.utils._param_validation.Interval",
    "sklearn.utils._param_validation.StrOptions",
    "sklearn.utils.validation._check_sample_weight",
}


def private_imports():
    """Return all names of scikit-learn with a part that starts with an underscore, as `src` imports them."""
    found = set()
    for path in Path(qckm.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sklearn":
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if "._" in name}


def test_this_version_was_tested():
    """Fails before anything else would, and says what to do."""
    requirements = [Requirement(text) for text in metadata.requires("qckm")]
    (ours,) = (requirement for requirement in requirements if requirement.name == "scikit-learn")
    assert any(bound.operator == "<" for bound in ours.specifier), "scikit-learn needs an upper bound in pyproject.toml"
    assert ours.specifier.contains(sklearn.__version__), (
        f"scikit-learn {sklearn.__version__} is beyond {ours.specifier}: qckm uses private names of it. If all tests "
        "but this one pass with it, raise the bound in pyproject.toml."
    )


def test_private_names_are_known():
    assert private_imports() == PRIVATE


@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_private_names_are_there(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)
