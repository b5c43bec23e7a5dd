"""The page to try it, without a browser: it is built from the sources as they are, and loads nothing from elsewhere."""

import json
import re

import numpy as np

from try_it_page import SITE, build


def constants():
    text = (SITE / "encoder.js").read_text("ascii")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_the_encoder_was_built_from_the_sources_as_they_are():
    built = constants()["source"]
    assert built == build.source_hash(build.load_operator()), "the C code or the operator changed: run `make try-it`"


def test_the_numbers_of_the_page_are_those_of_its_operator():
    operator, numbers = build.load_operator(), constants()
    assert numbers["fingerprint"] == operator.fingerprint
    np.testing.assert_array_equal(np.array(numbers["frequencies"]).T, operator.frequency_codes)
    np.testing.assert_array_equal(numbers["dither"], operator.dither_codes)
    np.testing.assert_array_equal([numbers["step"]] * 2, operator.steps)
    words = (SITE / "index.html").read_text("utf-8")
    assert f"<b>{operator.n_measurements} bits</b>" in words
    assert f"({-(-operator.n_measurements // 8)} bytes)" in words


def test_the_page_loads_its_own_files_and_nothing_else():
    text = (SITE / "index.html").read_text("utf-8")
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', text))
    assert loaded - {"data:,"} == {path.name for path in SITE.iterdir()} - {"index.html"}
    code = "".join(path.read_text("utf-8") for path in SITE.glob("*.[jc]s*"))
    assert not re.search(r"https?://|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|@import|url\(", text + code)
