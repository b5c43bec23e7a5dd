"""The pages say what is true: their Python runs, their links lead somewhere, and no public name is missing."""

import doctest
import importlib
import inspect
import re
import subprocess
from pathlib import Path

import pytest

import qckm
import qckm.plots
import qckm.sensor

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Written for this site, or taken in; gallery/ and _build/ are made by Sphinx.
PAGES = sorted(path for path in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])
FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)")


def sessions(page):
    """Return the lines of Python sessions on a page, at their places, and blank lines for the rest."""
    text, out = page.read_text(), []
    for match in FENCE.finditer(text):
        if ">>>" in match[1]:
            out.append("\n" * (text.count("\n", 0, match.start(1)) - sum(part.count("\n") for part in out)))
            out.append(match[1])
    return "".join(out)


@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages write files
    examples = doctest.DocTestParser().get_doctest(sessions(page), {}, page.name, str(page), 0)
    said = []
    doctest.DocTestRunner().run(examples, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    broken = []
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith("http"):
            continue
        file = (page.parent / target).resolve()
        if not file.exists():
            broken.append(target)
        elif anchor and anchor not in anchors(file):
            broken.append(f"{target}#{anchor}")
    assert not broken


# A file by its path or name, as pages and comments name them; and what is no file of ours, or is yet to be written.
NAMED = re.compile(r"(?<![\w./{\[-])((?:[a-z_]+/)*[\w-]+\.(?:py|c|h|cu|sh|csv|md))\b")
NOT_OURS = re.compile(r"avr/\w+\.h|.*\bNAME\.csv|models/as_yaml\.py|sources/orc\.py")


@pytest.mark.parametrize("kind", [".md", ".py", ".c", ".h", ".cu"])
def test_files_that_are_named_are_there(kind):
    """In pages all that is in backticks, of commands the scripts; in the package all that has a folder."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("no checkout of git")
    there, missing = {place for path in listed for place in endings(path)}, []
    for path in listed:
        if not path.endswith(kind) or (kind != ".md" and not path.startswith("src/")):
            continue
        text = (ROOT / path).read_text()
        if kind == ".md":
            quoted = [words.split() for words in re.findall(r"`([^`\n]+)`", text)]
            text = "\n".join(
                word for words in quoted for word in words if len(words) == 1 or word.endswith((".py", ".sh"))
            )
        named = {name for name in NAMED.findall(text) if "/" in name and not NOT_OURS.fullmatch(name)}
        missing += [f"{path}: {name}" for name in sorted(named - there)]
    assert not missing


def endings(path):
    """Yield a path, and what is left of it without the folders it begins with."""
    parts = path.split("/")
    yield from ("/".join(parts[start:]) for start in range(len(parts)))


def test_targets_that_are_named_are_in_the_makefile():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in (*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "src/qckm/kernels/README.md"))):
        assert set(re.findall(r"`make ([a-z0-9-]+)", page.read_text())) <= targets, page


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def public_names():
    """Yield every public name with its address."""
    for name in qckm.__all__:
        if inspect.ismodule(getattr(qckm, name)):
            continue
        yield f"qckm.{name}"
    yield from (f"qckm.plots.{name}" for name in qckm.plots.__all__)
    yield from (f"qckm.sensor.{name}" for name in qckm.sensor.__all__)
    yield from (f"qckm.privacy.{name}" for name in qckm.privacy.__all__)
    yield from ("qckm.files.dumps", "qckm.files.loads", "qckm.files.updating", "qckm.engines.dask.delayed_sketch")
    yield from ("qckm.engines.spark_stream.StreamSketch", "qckm.engines.connect", "qckm.engines.files.FileRows")
    yield from ("qckm.engines.spark.sketch_by", "qckm.engines.streams.StreamSums")
    yield from (f"qckm.engines.flight.{name}" for name in ("FlightSums", "put"))
    yield from (
        "qckm.sketch.grouping.GroupedSketches",
        "qckm.sketch.group_tables.save",
        "qckm.sketch.group_tables.load",
    )
    yield from (f"qckm.engines.spark_ml.{name}" for name in ("CompressiveKMeans", "CompressiveKMeansModel"))


def test_the_reference_has_every_public_name():
    text = (DOCS / "reference.md").read_text()
    documented = set(re.findall(r"^\.\. auto(?:class|function):: (\S+)$", text, re.MULTILINE))
    modules = set(re.findall(r"^\.\. automodule:: (\S+)\n   :members:$", text, re.MULTILINE))
    missing = {name for name in public_names() if name not in documented and name.rpartition(".")[0] not in modules}
    assert not missing
    # Modules that are public as a whole.
    assert modules == {"qckm.errors", "qckm.plots", "qckm.signatures"}
    modules.add("qckm.privacy")  # whose names are listed one by one
    assert {f"qckm.{name}" for name in qckm.__all__ if inspect.ismodule(getattr(qckm, name))} <= modules


def test_the_reference_has_no_name_that_is_gone():
    names = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", (DOCS / "reference.md").read_text(), re.MULTILINE)
    assert names
    assert set(names) <= set(public_names())
    for name in names:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name
