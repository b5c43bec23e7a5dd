"""The report in a real browser: no console error, no request, no sideways scrolling, at any width and in print.

Run by `make test-browser`, which installs Chromium where it may; elsewhere these tests are skipped with a word.
"""

import base64
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from qckm.models import Model
from qckm.report import render

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SCREENSHOTS = os.environ.get("QCKM_SCREENSHOTS")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

selenium = pytest.importorskip("selenium", reason="pip install selenium, or `make test-browser`")
if not (CHROMIUM and DRIVER):
    pytest.skip("no chromium and chromedriver here: apt-get install chromium chromium-driver", allow_module_level=True)

from selenium import webdriver  # noqa: E402


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


@pytest.fixture(params=[(1200, 900, False), (390, 844, True)], ids=["desktop", "phone"])
def browser(request):
    width, height, mobile = request.param
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp()}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if mobile:
        metrics = {"width": width, "height": height, "pixelRatio": 2.0, "mobile": True}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def test_the_report_in_a_browser(browser, page, request):
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    assert requests_of(browser, page.as_uri()) <= {page.as_uri(), "data:,"}
    wide, seen = browser.execute_script(
        "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
    )
    assert wide <= seen, "the page scrolls sideways"
    assert browser.find_element("tag name", "h1").text == "8 clusters in 123,456,789 rows"
    assert len(browser.find_elements("tag name", "svg")) == 3
    if SCREENSHOTS:
        keep(browser, request.node.callspec.id)


def requests_of(browser, page):
    """The addresses that this page, not the browser's own first tab, asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    return {one["request"]["url"] for one in sent if one["documentURL"] == page}


def keep(browser, name):
    height = browser.execute_script("return document.documentElement.scrollHeight")
    width = browser.execute_script("return window.innerWidth")
    metrics = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": metrics, "captureBeyondViewport": True})
    (Path(SCREENSHOTS) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    (Path(SCREENSHOTS) / f"{name}.pdf").write_bytes(base64.b64decode(printed["data"]))
