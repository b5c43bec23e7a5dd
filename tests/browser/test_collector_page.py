"""The collector's page in a real browser, with a fleet behind it: live, with a token, nothing from elsewhere."""

import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from collector.fleet import call, new_store, running
from qckm.collector import senders
from qckm.collector.settings import Settings
from qckm.collector.simulator import simulate

FILES = ("style.css", "charts.js", "page.js", "v1/events")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A collector with three days of 30 devices and 4 shops; yields its URL, a token, and what sends more."""
    folder = tmp_path_factory.mktemp("store")
    settings = Settings(clusters=3)
    db = new_store(folder, settings)
    token = senders.create_token(db, "reader", ["read"], [], 0)
    db.close()
    with running(folder, settings) as url:
        simulate(str(folder), url, 30, 4, 3, 0.0, 0, str)

        def more():
            simulate(str(folder), url, 30, 0, 0, 1.5, 0, str)

        until = time.monotonic() + 60
        while len([d for d in call("GET", f"{url}/v1/overview", token)[1]["drifts"] if d["pvalue"] is not None]) < 14:
            assert time.monotonic() < until, "nothing was compared"
            time.sleep(0.5)
        yield url, token, more


def wait_for(browser, what, seconds=15):
    until = time.monotonic() + seconds
    while not browser.execute_script(f"return {what}"):
        assert time.monotonic() < until, what
        time.sleep(0.1)


@pytest.fixture
def page(browser, fleet):
    url, token, _ = fleet
    browser.get("about:blank")
    browser.get(f"{url}/#{token}")
    wait_for(browser, "document.body.className === 'live' && latest !== null")
    return browser


def text(page, id):
    return page.find_element(By.ID, id).text


def test_it_shows_who_sends_what_and_what_it_is_made_of(page, fleet, look):
    url, token, _ = fleet
    told = call("GET", f"{url}/v1/overview", token)[1]
    assert f"{told['rows']:,}" in text(page, "numbers")
    assert "30 of 30" in text(page, "numbers").replace("\n", " ")
    for name in ("aachen", "bergen", "cork", "shop-00"):
        assert name in text(page, "senders")
    assert "wrong MAC" in text(page, "refusals")
    assert len(page.find_elements(By.CSS_SELECTOR, "#clusters tbody tr")) == 3
    assert page.find_elements(By.CSS_SELECTOR, "#drift .alike, #drift .drifted")
    look(f"{url}/", {f"{url}/{name}" for name in FILES})


def test_the_token_does_not_stay_in_the_address(page, fleet):
    assert fleet[1] not in page.current_url
    page.refresh()
    wait_for(page, "document.body.className === 'live'")


def test_new_rows_appear_by_themselves(page, fleet):
    before = page.execute_script("return latest.rows")
    fleet[2]()
    wait_for(page, f"latest.rows > {before}")


def test_a_line_that_has_died_is_noticed(page, fleet):
    """A computer that has slept gets no error: nothing comes any more, that is all."""
    page.execute_script(
        "window.real = fetch; fetch = (_, { signal }) => new Promise((_, no) => { signal.onabort = no })"
    )
    page.execute_script("patience = 500")
    wait_for(page, "document.body.className === 'lost'")
    page.execute_script("fetch = window.real; patience = 15000")
    wait_for(page, "document.body.className === 'live'", 40)


def test_it_is_used_with_the_keyboard(page):
    days = page.find_element(By.CSS_SELECTOR, "[data-series=days]")
    days.send_keys(Keys.ENTER)
    assert days.get_attribute("aria-pressed") == "true"
    page.find_element(By.CSS_SELECTOR, "[data-series=hours]").send_keys(Keys.SPACE)
    page.find_element(By.ID, "filter").send_keys("shop")
    wait_for(page, "!document.getElementById('senders').innerText.includes('aachen')")
    sort = page.find_element(By.CSS_SELECTOR, "[data-key=sort-rows]")
    sort.send_keys(Keys.ENTER)
    assert page.execute_script("return document.activeElement.dataset.key") == "sort-rows"
    page.find_element(By.ID, "filter").clear()


def test_the_focus_stays_where_it_is_while_rows_come_in(page):
    page.execute_script("document.querySelector('#rows g[tabindex]').focus()")
    of_focus = "return document.activeElement.dataset.key"
    key = page.execute_script(of_focus)
    page.execute_script("latest.hours[0].rows.aachen += 1; showRows(latest)")
    assert key
    assert page.execute_script(of_focus) == key
    assert page.execute_script(
        "return [...document.querySelectorAll('main [tabindex]')].every(e => e.id || e.dataset.key)"
    )


def test_a_filter_that_nobody_meets_says_so(page):
    page.find_element(By.ID, "filter").send_keys("nobody at all")
    wait_for(page, "document.getElementById('senders').innerText.includes('No sender')")
    page.find_element(By.ID, "filter").clear()


def test_a_share_that_is_not_nothing_is_not_shown_as_nothing(page):
    shown = page.execute_script("return [0, 0.0004, 0.001, 0.123].map(percent)")
    assert shown == ["0.0 %", "less than 0.1 %", "0.1 %", "12.3 %"]


def test_dark_is_dark_and_words_can_be_read(page):
    for scheme, dark in (("light", False), ("dark", True)):
        page.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        back, front, soft = page.execute_script(
            "const of = (node) => getComputedStyle(node); const section = document.querySelector('section');"
            "return [of(section).backgroundColor, of(document.body).color, of(document.querySelector('dt')).color]"
        )
        assert (brightness(back) < 0.2) == dark
        assert contrast(back, front) > 7
        assert contrast(back, soft) > 4.5
        of_charts, edge = page.execute_script(
            "return [COLORS, getComputedStyle(document.getElementById('filter')).borderTopColor]"
        )
        for color in [*map(rgb, of_charts), edge]:
            assert contrast(back, color) > 3, color
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def rgb(hex):
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(hex[1:]))})"


def brightness(color):
    """Relative luminance, as WCAG defines it."""
    parts = [int(word) / 255 for word in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


def test_without_a_token_it_asks_for_one(browser, fleet):
    url, token, _ = fleet
    browser.get(f"{url}/")
    # A page that is still being let in would keep its token a moment later.
    wait_for(browser, "document.body.className === 'live' || !document.getElementById('login').hidden")
    browser.execute_script("sessionStorage.clear()")
    browser.refresh()
    wait_for(browser, "!document.getElementById('login').hidden")
    box = browser.find_element(By.ID, "token")
    box.send_keys("qckm_0_0", Keys.ENTER)
    wait_for(browser, "document.getElementById('state-words').innerText.includes('not known')")
    wide, seen = browser.execute_script("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
    assert wide <= seen, "the words are wider than the page"
    box.send_keys(token, Keys.ENTER)
    wait_for(browser, "document.body.className === 'live' && document.getElementById('login').hidden")
    browser.get_log("browser")  # the refusal is there, as it should
