"""Headless Chromium at the width of a desktop and of a phone.

Run by `make test-browser`, which installs Chromium where it may; elsewhere these tests are skipped with a word.
"""

import base64
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session", params=[(1280, 900, False), (390, 844, True)], ids=["desktop", "phone"])
def browser(request):
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium, or `make test-browser`")
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium and chromedriver here: apt-get install chromium chromium-driver")
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


@pytest.fixture
def look(browser, request):
    """Return a function that looks at a page: no error, no request except for its own files, no sideways scrolling."""

    def look_at(page, own=frozenset()):
        assert browser.get_log("browser") == []
        assert requests_of(browser, page) <= {page, "data:,", *own}
        wide, seen = browser.execute_script(
            "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
        )
        assert wide <= seen, "the page scrolls sideways"
        if SCREENSHOTS:
            keep(browser, f"{request.node.originalname}-{request.node.callspec.id}")

    return look_at


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
