"""A report of a hostile model (issue 14, number 14): text stays text, and a fact that is none does no harm."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from qckm.cli import run
from qckm.models import Model, to_json
from qckm.report import render

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "</style><script>alert(1)</script>",
    "</title></svg></text></pre></main><iframe src=//evil>",
    "--><svg onload=alert(1)>",
    "&lt;script&gt;",
    "]]><script>",
    "\x00<\x00script>",
    "\ud800<b>",
    "\u202e<b>",
]
NUMBERS = ["rows", "skipped", "saturated", "frequencies", "data_bytes", "sketch_bytes", "n_inputs"]
NUMBERS += ["evaluations", "seed", "explained", "scale"]
TEXTS = ["signature", "law", "dither", "decoder", "fingerprint", "command"]
OTHERS = ["inputs", "seconds", "converged", "standardized"]


class Structure(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, attributes))

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", []))

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment")

    def handle_decl(self, decl):
        assert decl == "doctype html"

    unknown_decl = handle_pi = handle_comment


def model_of(word, facts=None):
    """A model in which every text is, or has in it, the same word."""
    usual = {
        **dict.fromkeys(NUMBERS, 10),
        **dict.fromkeys(TEXTS, word),
        "inputs": [word, word],
        "seconds": {word: 1.0, f"{word}2": 2.0},
        "converged": True,
        "standardized": False,
        word: word,
        "nested": {word: [word, {word: word}]},
    }
    names = tuple(f"{word}{place}" for place in range(3))
    centers = np.random.default_rng(0).normal(size=(4, 3))
    return Model(centers, np.full(4, 0.25), np.ones(4), np.ones(3), names, usual if facts is None else facts)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_14_a_hostile_model_has_the_page_of_a_harmless_one(payload):
    hostile, harmless = (Structure(render(model_of(word))) for word in (payload, "harmless"))
    assert hostile.elements == harmless.elements
    shown = "".join(hostile.text)
    if payload.isprintable():
        assert shown.count(payload) >= 10
    assert "\x00" not in shown
    assert "\u202e" not in shown


def test_14_the_page_forbids_scripts_and_the_network():
    elements = Structure(render(model_of("x"))).elements
    policy = next(
        dict(given)["content"] for tag, given in elements if "Content-Security-Policy" in dict(given).values()
    )
    assert policy.startswith("default-src 'none'")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    tags = [tag for tag, _ in elements]
    assert tags.index("meta") < tags.index("title") < tags.index("style")
    assert not {"script", "iframe", "img", "object", "embed", "base", "form"} & set(tags)


def test_14_elements_are_only_made_by_one_function():
    """By construction: no file of the report but html.py has a tag in it."""
    from importlib.resources import files

    for path in files("qckm.report").iterdir():
        if path.name.endswith(".py") and path.name != "html.py":
            text = path.read_text()
            assert "</" not in text, path
            assert "Html(" not in text, path


WEIRD = [
    *(float("nan"), float("inf"), 1e308, -1, 10**30, 10**4000, 0, 0.5, None, True),
    *("<script>", "", "x" * 10_000, [], [[]], ["<b>"] * 3, {}, {"a": "<b>"}),
]


@pytest.mark.parametrize("key", [*NUMBERS, *TEXTS, *OTHERS])
def test_14_facts_that_are_none_are_shown_as_text(key, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    base = Structure(render(model_of("x", {}))).elements
    for value in WEIRD:
        model = model_of("x", {"rows": 100, **model_of("x").facts, key: value})
        elements = Structure(render(model)).elements
        assert {tag for tag, _ in elements} <= {tag for tag, _ in base} | {"pre", "rect", "/pre", "/rect"}
        content = json.loads(to_json(model_of("x", {})))
        content["facts"] = {"rows": 100, key: value}
        (tmp_path / "m.json").write_text(json.dumps(content))
        for verb in ("report", "info"):
            assert run([verb, "m.json", "-q"]) == 0, capfd.readouterr().err
        assert "warning" not in capfd.readouterr().err


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-300, 0.0])
@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e300])
def test_14_centroids_of_any_size_have_a_page(size, unit, rng):
    centers = rng.uniform(-1, 1, size=(4, 3)) * size
    for weights in (np.full(4, 0.25), np.zeros(4), np.array([1e308, 1e308, 0, 0])):
        model = Model(centers, weights, np.full(4, size), np.full(3, unit))
        for sample in (None, rng.uniform(-1, 1, size=(100, 3)) * size, np.zeros((100, 3))):
            page = render(model, sample)
            assert "nan" not in page.split("</style>")[1]
            assert "inf" not in page.split("</style>")[1]


def test_14_a_million_clusters_are_not_a_million_lines(rng):
    k = 20_000
    page = render(Model(rng.normal(size=(k, 2)), np.full(k, 1 / k), np.zeros(k), np.ones(2)))
    assert len(page) < 1_000_000
    assert "1000 of 20000 clusters" in page
    assert f"{k} clusters" in page
