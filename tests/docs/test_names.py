"""What pages name is there: commands with their flags, names of the package, files without a folder."""

import ast
import importlib
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from qckm.cli import VERBS, cli

ROOT = Path(__file__).parents[2]
CONTEXT = click.Context(cli)
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
PAGES = [ROOT / path for path in TRACKED if path.endswith(".md")]
FENCE = re.compile(r"^```(?:sh|bash|console|text)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^ {4}(.*)$", re.MULTILINE)
INLINE = re.compile(r"`((?:\w+=\S+ )*qckm [^`\n]+)`")
NOT_OURS = {"encoder.h"}  # which a user writes


def commands(text):
    """Yield the words after `qckm` of all commands in a text."""
    for line in text.replace("\\\n", " ").split("\n"):
        for part in re.split(r"\s(?:\||&&?|;|#|>>?|<)(?:\s|$)", line):
            if found := re.match(r"\s*(?:\$ |\w+=\S+ )*qckm (.+)", part):
                try:
                    yield shlex.split(found[1])
                except ValueError:  # a quote that ends on another line
                    yield found[1].split()


def mistake_in(words):
    """Return what is no verb, or no flag of its verb, in the words of a command; None if all is right."""
    command, words = cli, iter(words)
    for word in words:
        flags = {flag: param for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word):
            flag = word.split("=")[0]
            if flag not in (*flags, "-h", "--help"):
                return flag
            if flag in flags and not flags[flag].is_flag and flag == word:
                next(words, None)
        elif isinstance(command, click.Group):
            command = command.get_command(CONTEXT, word)
            if command is None:
                return word
    return None


@pytest.mark.parametrize(
    "words, mistake",
    [
        ("fit rows.csv -k 3 --strict", None),
        ("fit rows.csv -k 3 --stict", "--stict"),
        ("fitt rows.csv", "fitt"),
        ("collect --port 80 token list", None),
        ("collect tokens list", "tokens"),
        ("collect token create a --write", "--write"),
    ],
)
def test_a_mistake_in_a_command_is_seen(words, mistake):
    assert mistake_in(words.split()) == mistake


@pytest.mark.skipif(not PAGES, reason="no checkout of git")
def test_commands_that_pages_name_can_be_typed():
    found = [
        (page, words)
        for page in PAGES
        for block in (text for form in (FENCE, INDENTED, INLINE) for text in form.findall(page.read_text()))
        for words in commands(block)
        if words[0] != "VERB"
    ]
    assert {words[0] for _, words in found} >= set(VERBS) - {"encode"}  # the test finds commands
    wrong = [f"{page.relative_to(ROOT)}: qckm {shlex.join(words)}" for page, words in found if mistake_in(words)]
    assert not wrong


@pytest.mark.parametrize("verb", VERBS)
def test_commands_that_help_shows_can_be_typed(verb):
    command = cli.get_command(CONTEXT, verb)
    shown = [command, *getattr(command, "commands", {}).values()]
    examples = [words for each in shown for words in commands(each.help)]
    assert examples
    assert not [words for words in examples if mistake_in(words)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_that_a_page_has_can_be_imported(page):
    assert not [
        name for name in re.findall(r"(?<![\w./-])qckm(?:\.[A-Za-z_]\w*)+", page.read_text()) if not is_there(name)
    ]


def test_the_decoder_has_the_functions_that_its_description_calls():
    text = (ROOT / "docs" / "how-it-works.md").read_text()
    steps = "\n".join(line.split("#")[0] for line in INDENTED.findall(text[text.index("### Least regret") :]))
    called = {name for pair in re.findall(r"(\w+)\(|\.([a-z_]\w*)", steps) for name in pair if name} - {"exp"}
    assert "fit_at_best_scale" in called
    assert called <= defined(ROOT / "src" / "qckm")


def defined(folder):
    """Return the names of all functions, classes and fields in the modules of a folder."""
    nodes = [node for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    fields = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return fields | {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def is_there(name):
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_that_a_page_runs_are_there(page):
    """Of benchmarks and of drift's experiments a part is named by a word."""
    run = r"python -m ((?:benchmarks|drift) [a-z]\w+|(?:benchmarks|decoder|drift|paper)(?:\.\w+)?)"
    modules = [re.sub("[ .]", "/", name) for name in re.findall(run, page.read_text())]
    ways = [
        f"{folder}{name}{end}" for folder in ("", "experiments/") for end in (".py", "/__main__.py") for name in modules
    ]
    assert len({*ways} & {*TRACKED}) == len({*modules})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_without_a_folder_are_there(page):
    there = {Path(path).name for path in TRACKED} | NOT_OURS
    assert set(re.findall(r"`([\w-]+\.(?:py|c|h|cu|sh|css|js))`", page.read_text())) <= there
