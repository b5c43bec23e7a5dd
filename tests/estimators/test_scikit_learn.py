"""Of scikit-learn we use what it promises to keep, so that its next version needs no new one of ours."""

import ast
from pathlib import Path

import qckm


def test_no_private_name_of_scikit_learn_is_used():
    found = set()
    for path in Path(qckm.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sklearn":
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert "sklearn.base.BaseEstimator" in found
    assert not {name for name in found if "._" in name}
