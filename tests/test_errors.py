"""The library's errors: one hierarchy that travels well, and words that a user of Python understands."""

import ast
import pickle
import re
from pathlib import Path

import pytest

import qckm
from qckm import errors
from qckm.cli import VERBS, cli
from qckm.errors import FileError, QckmError, SourceError

PACKAGE = Path(qckm.__file__).parent
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, QckmError)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_keeps_its_kind_words_and_topic_within_a_place(kind):
    error = kind("Expected 2, got 3.", about="columns").within("rows.csv").within("batch 7")
    assert (type(error), str(error), error.about) == (kind, "batch 7: rows.csv: Expected 2, got 3.", "columns")


def test_an_error_may_become_one_of_another_kind():
    error = SourceError("no columns.", about="columns").within("x.qckm", FileError)
    assert (type(error), str(error), error.about) == (FileError, "x.qckm: no columns.", "columns")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling(kind):
    error = pickle.loads(pickle.dumps(kind("words", about="sketch")))
    assert (type(error), str(error), error.about) == (kind, "words", "sketch")


def flags():
    """Return every option of the command line: --columns, -c, …"""
    commands = [cli.get_command(None, verb) for verb in VERBS]
    return {flag for command in commands for param in command.params for flag in (*param.opts, *param.secondary_opts)}


def messages(tree):
    """Yield the strings of a module that are no docstrings, parts of f-strings too."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    docstrings = {id(node.body[0].value) for node in nodes}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_the_library_never_speaks_of_the_command_line():
    found = []
    for path in PACKAGE.rglob("*.py"):
        # A collector is run by the command line, and by nothing else.
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "collector"):
            for words in messages(ast.parse(path.read_text())):
                said = flags() & set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", words))
                said |= set(re.findall(rf"qckm (?:{'|'.join(VERBS)})\b", words))
                found += [f"{path.relative_to(PACKAGE)}: {word}" for word in said]
    assert not found
