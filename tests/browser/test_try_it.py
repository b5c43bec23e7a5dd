"""The page to try it, in a real browser: its bits, counters and messages are those of Python."""

import base64
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from qckm import sensor
from qckm.decoding.model.first_harmonic import FirstHarmonicModel
from qckm.sensor import signed, wire
from try_it_page import SITE, build

URL = (SITE / "index.html").as_uri()
OWN = {(SITE / path.name).as_uri() for path in SITE.iterdir()}


def odd_rows(count=1000):
    """Rows across the plane, at its edges, on halves of steps, beyond the coded range; tiny, huge, negative zeros."""
    rng = np.random.default_rng(1000)
    step = build.load_operator().steps[0]
    rows = rng.uniform(-1.2, 1.2, (count, 2))
    rows[::5] = step * (rng.integers(-20_000, 20_000, rows[::5].shape) + 0.5)  # rounded to the even neighbour
    rows[1::10] = step * rng.choice(
        [-32769, -32768, -32767.5, -32767, 32766.5, 32767, 32767.5, 32768], rows[1::10].shape
    )
    values = [0.0, -0.0, 5e-324, -1e-300, 1e300, -1.7e308, 1.0, -1.0, 0.1, 1 / 3, np.nextafter(1, 2), 2.0, -2.0]
    rows[2::10] = rng.choice(values, rows[2::10].shape)
    return rows


@pytest.fixture
def page(browser):
    browser.get(URL)
    browser.set_script_timeout(30)
    browser.execute_async_script("const done = arguments[0]; started.then(done)")
    assert browser.execute_script("return document.body.dataset.ready") == "yes"
    return browser


@pytest.fixture
def empty(page):
    """The page after "Start again": it opens with an example."""
    page.execute_script("startAgain()")
    return page


def sketched(page, rows):
    """Return the bits of each row, the counters, rows and clipped rows, and the message, as the page has them."""
    found = page.execute_script(
        """
        const rows = JSON.parse(arguments[0]), bits = [];
        page.sketcher.clear(0);
        for (const row of rows) { page.sketcher.add(0, row); bits.push(page.sketcher.lastBits().join("")); }
        const one_by_one = [...page.sketcher.ones(0)];
        page.sketcher.clear(0);
        page.sketcher.add(0, rows.flat());
        return [bits, one_by_one, [...page.sketcher.ones(0)], page.sketcher.rows(0), page.sketcher.clipped(0),
                [...page.sketcher.message(0, 7, 0)],
                [...page.sketcher.signedMessage(0, Array.from({length: 16}, (_, i) => i), 7, 3, 1, 1000)]];
        """,
        json.dumps(rows.tolist()),
    )
    return [np.array([[int(bit) for bit in row] for row in found[0]]), *found[1:]]


def assert_as_python(page):
    operator, rows = build.load_operator(), odd_rows()
    bits, one_by_one, at_once, count, clipped, message, signed_message = sketched(page, rows)
    expected = np.unpackbits(operator.encode(rows), axis=1, count=operator.n_measurements, bitorder="little")
    np.testing.assert_array_equal(bits, expected)
    assert one_by_one == at_once == expected.sum(axis=0).tolist()
    sketch = operator.sketch(rows)
    assert (count, clipped) == (len(rows), sketch.saturated)
    assert clipped > 0
    pool = sensor.Pool(operator)
    assert pool.add(bytes(message))
    pooled = pool.sketch
    signed_by_python = replace(wire.loads(bytes(message)), sequence=1, boot=3, time=1000)
    assert bytes(signed_message) == signed.dumps(signed_by_python, bytes(range(16)))
    np.testing.assert_array_equal(pooled.total, sketch.total)
    assert (pooled.count, pooled.saturated) == (sketch.count, sketch.saturated)


def test_bits_counters_and_messages_are_those_of_python(page):
    assert_as_python(page)


def test_the_encoder_compiled_anew_gives_the_same(page):
    if not (shutil.which("clang") and shutil.which("wasm-ld")):
        pytest.skip("no clang and wasm-ld here: apt-get install clang lld")
    fresh = base64.b64encode(build.compile_wasm(build.load_operator())).decode()
    page.execute_async_script(
        "const [wasm, done] = arguments; ENCODER.wasm = wasm;"
        "makeSketcher().then((made) => { page.sketcher = made; done() })",
        fresh,
    )
    assert_as_python(page)


def test_the_density_is_that_of_the_plots(empty):
    operator, rows = build.load_operator(), np.random.default_rng(1000).uniform(-0.9, 0.9, (300, 2)) ** 3
    seen = empty.execute_script(
        "page.sketcher.add(0, arguments[0].flat()); return [...density(page.sketcher.values(0))]",
        rows.tolist(),
    )
    model = FirstHarmonicModel.of(operator.sketch(rows))
    middles = -1 + (2 * np.arange(96) + 1) / 96
    places = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    heights = model.atoms(model.to_points(places)) @ model.z / (model.amplitude**2 * model.phases.size)
    np.testing.assert_allclose(seen, heights, atol=1e-3)


def test_what_is_no_number_is_refused_and_nothing_is_added(empty):
    said = empty.execute_script(
        """
        const said = [];
        for (const rows of [[NaN, 0], [0, Infinity], [0.1, 0.2, 0.3], [0, 0, "1", 2]])
            try { page.sketcher.add(0, rows); said.push("added") } catch (error) { said.push(error.message) }
        try { page.sketcher.add(1, [0, 0]); page.sketcher.forget(0, 1); said.push("forgotten") }
        catch (error) { said.push(error.message) }
        return [...said, page.sketcher.rows(0)];
        """
    )
    assert said == ["Expected pairs of finite numbers."] * 4 + ["Rows that were never added cannot be forgotten.", 0]


def test_the_page_opens_with_an_example_that_is_merged_forgotten_and_decoded(page, look):
    wait_for_frame(page)
    assert "in 480 counters" in page.find_element("id", "sum-words").text
    centers = np.array(page.execute_script("return page.centroids.map((c) => [c.x, c.y, c.weight])"))
    expected = np.array([[-0.55, 0.45, 5 / 14], [-0.1, -0.5, 4 / 14], [0.45, 0.55, 3 / 14], [0.62, -0.35, 2 / 14]])
    # The rows are random: 200 of deviation 0.1 have a mean that strays by 0.007 in a direction, a tenth of what may be.
    np.testing.assert_allclose(centers, expected, atol=0.07)
    assert len(page.find_elements("css selector", "#centroids tbody tr")) == 4
    look(URL, OWN)
    page.find_element("css selector", "input[value=forget]").click()
    wait_for_frame(page)
    assert page.find_element("id", "sum-words").text.startswith("The rest equals the orange sketch")
    low, high = page.execute_script(
        """
        const heights = density(page.sketcher.values(SHOWN)), half = heights.length / 2;
        return [Math.max(...heights.slice(0, half)), Math.max(...heights.slice(half))];
        """
    )
    assert low > 4 * high  # the blue clouds, in the upper half, are gone


def test_the_plane_is_drawn_on_with_a_pointer_and_with_keys(page):
    from selenium.webdriver import ActionChains, Keys

    plane = page.find_element("id", "plane")
    ActionChains(page).move_to_element(plane).click_and_hold().move_by_offset(20, 10).release().perform()
    drawn = page.execute_script("return page.sketcher.rows(0)")
    assert 8 <= drawn < 100  # the example has made room
    assert page.execute_script("return page.sketcher.rows(1)") == 0
    page.execute_script("document.querySelector('input[value=\"1\"]').click(); arguments[0].focus()", plane)
    plane.send_keys(Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.SPACE)
    assert page.execute_script("return page.sketcher.rows(1)") == 40
    assert page.execute_script("return page.sketcher.rows(0)") == drawn


def test_a_csv_file_is_sketched_and_decoded_in_its_own_units(page, tmp_path, look):
    rng = np.random.default_rng(1000)
    heights, weights = (
        np.concatenate([rng.normal(a, b, 300), rng.normal(c, b, 300)]) for a, b, c in ((150, 2, 190), (50, 3, 90))
    )
    lines = [f'"n, {row}",{a:.3f},{b:.3f}' for row, (a, b) in enumerate(zip(heights, weights, strict=True))]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["name,height,weight", *lines, "x,,3", "y,4,n/a"]))
    page.find_element("id", "file").send_keys(str(path))
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 300)")
    assert "602 rows, 2 columns of numbers" in page.find_element("id", "table-words").text
    page.find_element("id", "table-add").click()
    words = page.find_element("id", "table-words").text
    assert words.startswith("600 rows sketched, 2 rows without both numbers left out.")
    low = float(re.search(r"height: (\S+) to", words)[1])
    assert low == pytest.approx(
        heights.min(), abs=0.1
    )  # a row that is left out, of height 4, does not stretch the plane
    wait_for_frame(page)
    page.execute_script("document.getElementById('clusters').value = '2'; findClusters()")
    cells = [cell.text for cell in page.find_elements("css selector", "#centroids td, #centroids th")]
    assert cells[2:4] == ["height", "weight"]
    found = sorted(float(cell) for cell in (cells[6], cells[10]))
    np.testing.assert_allclose(found, [150, 190], atol=1)
    look(URL, OWN)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "The file is empty."),
        ("a\n1\n2\n", "Expected two or more columns"),
        ("a;b\n1,5;2,5\n1,5;2,5\n", "Decimal commas are not read."),
    ],
)
def test_a_file_that_cannot_be_read_says_why(page, text, words):
    said = page.execute_script("try { readTable(arguments[0]) } catch (error) { return error.message }", text)
    assert words in said


def wait_for_frame(page):
    page.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
