"""The report in a real browser: no console error, no request, no sideways scrolling, at any width and in print."""

from pathlib import Path

import numpy as np
import pytest

from qckm.models import Model
from qckm.report import render


def make_page(folder):
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(8, 20))
    sample = centers[rng.integers(8, size=1000)] + rng.normal(size=(1000, 20))
    facts = {
        "rows": 123_456_789,
        "skipped": 12,
        "saturated": 1000,
        "data_bytes": 9_876_543_210,
        "sketch_bytes": 33_000,
        "frequencies": 800,
        "explained": 0.97,
        "inputs": ["a/very/long/folder/" * 6 + "part-000.parquet"],
        "n_inputs": 40,
        "seconds": {"prepare": 1.0, "sketch": 60.0, "decode": 4.0},
        "signature": "one-bit",
        "fingerprint": "ab" * 32,
        "command": "qckm fit 'data/**/*.parquet' -k 8 --columns " + ",".join(f"column_{i}" for i in range(20)),
    }
    names = tuple(f"column_<{i}>" for i in range(20))
    model = Model(centers, np.linspace(3, 1, 8) / 16, np.ones(8), np.ones(20), names, facts)
    path = Path(folder) / "report.html"
    path.write_text(render(model, sample), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return make_page(tmp_path_factory.mktemp("report"))


def test_the_report_in_a_browser(browser, page, look):
    browser.get(page.as_uri())
    assert browser.find_element("tag name", "h1").text == "8 clusters in 123,456,789 rows"
    assert len(browser.find_elements("tag name", "svg")) == 3
    look(page.as_uri())


def test_pointing_at_a_cluster_shows_it_alone(browser, page):
    browser.get(page.as_uri())
    row = browser.find_elements("css selector", "table .c3")[0]
    assert {opacity(browser, f".c{cluster}") for cluster in range(8)} == {1.0}
    browser.execute_script("arguments[0].focus()", row)
    wait = "const done = arguments[0]; setTimeout(done, 300)"  # until the others have faded
    browser.execute_async_script(wait)
    assert opacity(browser, "svg .c3") == opacity(browser, "table .c3") == 1
    assert opacity(browser, "svg .c4") == pytest.approx(0.15)
    assert opacity(browser, "table .c4") == pytest.approx(0.15)


def opacity(browser, selector):
    """The mean opacity of all that is drawn for a cluster."""
    return browser.execute_script(
        """const all = [...document.querySelectorAll(arguments[0])].map((one) => Number(getComputedStyle(one).opacity));
        return all.reduce((a, b) => a + b) / all.length""",
        selector,
    )
