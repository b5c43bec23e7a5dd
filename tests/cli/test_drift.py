"""`qckm drift`: 0 where nothing changed, 1 where something did, 2 where something is wrong."""

import json

import numpy as np
import pytest

import qckm


@pytest.fixture
def windows(folder):
    op = qckm.SketchOperator.draw(2, 50, 2.0, random_state=0)
    rows, rng = np.load("rows.npy"), np.random.default_rng(1)
    op.sketch(rows[:1500]).save("monday.qckm")
    op.sketch(rows[1500:]).save("tuesday.qckm")
    op.sketch(rows[1500:] + 0.7).save("wednesday.qckm")
    for hour in range(8):
        op.sketch(rows[rng.integers(3000, size=600)] + 0.9 * (hour == 5)).save(f"hour-{hour}.qckm")
    op.empty().save("none.qckm")
    qckm.SketchOperator.draw(2, 50, 2.0, random_state=1).sketch(rows).save("other.qckm")
    return folder


def test_the_exit_code_is_the_answer(windows, qckm_):
    code, out, _ = qckm_("drift", "monday.qckm", "tuesday.qckm")
    assert code == 0
    assert out.startswith(b"no drift found: p = ")
    code, out, _ = qckm_("drift", "monday.qckm", "wednesday.qckm")
    assert code == 1
    assert out.startswith(b"drift: p = ")
    assert qckm_("drift", "monday.qckm", "wednesday.qckm", "--quiet") == (1, b"", "")


@pytest.mark.parametrize(
    "words, said",
    [
        (("monday.qckm", "missing.qckm"), "No such file"),
        (("monday.qckm", "none.qckm"), "a sketch of none"),
        (("monday.qckm", "other.qckm"), "Cannot compare"),
        (("monday.qckm",), "Expected two sketches"),
        (("monday.qckm", "tuesday.qckm", "--level", "0"), "--level"),
        (("monday.qckm", "tuesday.qckm", "--statistic", "whitened"), "a reference"),
        (("monday.qckm", "tuesday.qckm", "-k", "3", "--model", "m.json"), "got both"),
        (("rows.csv", "rows.csv"), "Expected a sketch among the windows"),
        (("monday.qckm", "tuesday.qckm", "--engine", "dask"), "leave out --engine"),
        (("gone-*.qckm", "--against", "monday.qckm"), "no file that matches"),
    ],
)
def test_what_is_wrong_is_two(windows, qckm_, words, said):
    code, out, err = qckm_("drift", *words)
    assert (code, out) == (2, b"")
    assert said in err


def test_a_window_may_be_data(windows, qckm_):
    """Rows are sketched as the sketch beside them was."""
    qckm_("sketch", "rows.npy", "--operator", "monday.qckm", "-o", "all.qckm")
    by_sketch, by_rows = (
        json.loads(qckm_("drift", "monday.qckm", name, "--json")[1]) for name in ("all.qckm", "rows.npy")
    )
    assert by_sketch["pvalue"] == by_rows["pvalue"]
    assert by_rows["inputs"] == ["rows.npy"]


def test_a_reference_and_clusters_explain(windows, qckm_):
    np.save("sample.npy", np.load("rows.npy")[:2000])
    words = ("monday.qckm", "wednesday.qckm", "--reference", "sample.npy", "-k", 3)
    code, out, _ = qckm_("drift", *words, "--json", "--report", "drift.html", "--plot", "where.png")
    found = json.loads(out)
    assert code == 1
    assert (found["statistic_name"], found["reference_rows"]) == ("whitened", 2000)
    assert found["explanation"]["causes"]
    page = (windows / "drift.html").read_text()
    assert "Weights then and now" in page
    assert "Where rows came and went" in page
    assert (windows / "where.png").read_bytes().startswith(b"\x89PNG")


def test_many_windows_are_a_table(windows, qckm_):
    against = ("--against", "monday.qckm", "--against", "tuesday.qckm")
    code, out, _ = qckm_("drift", "hour-*.qckm", *against, "--plot", "p.svg", "--report", "r.html")
    lines = out.decode().splitlines()
    assert code == 1
    assert [line.split()[0] for line in lines if "  drift; most: " in line] == ["hour-5"]
    assert b"<svg" in (windows / "p.svg").read_bytes()
    assert "1 of 8 windows differ" in (windows / "r.html").read_text()


def test_a_window_that_a_pattern_matches_is_not_compared_with_itself(windows, qckm_):
    _, out, err = qckm_("drift", "hour-*.qckm", "--against", "./hour-0.qckm")
    assert "./hour-0.qckm is not compared with itself\n" in err
    assert b"hour-0" not in out
    assert b"hour-1 " in out
    assert b"same sum" not in out
    assert b"same sum" in qckm_("drift", "monday.qckm", "monday.qckm")[1]  # as asked for, alone


def test_a_small_change_does_not_count_if_that_is_asked_for(windows, qckm_):
    code, out, _ = qckm_("drift", "monday.qckm", "wednesday.qckm", "--json")
    found = json.loads(out)
    assert code == 1
    assert 0 < found["effect_error"] < found["effect"] < 1
    larger = found["effect"] + 0.01
    code, out, _ = qckm_("drift", "monday.qckm", "wednesday.qckm", "--min-effect", larger)
    assert code == 0
    assert out.startswith(b"a change, but smaller than ")
    assert qckm_("drift", "hour-*.qckm", "--against", "monday.qckm", "--min-effect", 0.9, "--quiet")[0] == 0
    assert qckm_("drift", "monday.qckm", "tuesday.qckm", "--min-effect", 2)[0] == 2


def test_columns_are_told_with_their_means_and_deviations(windows, qckm_):
    rows = np.load("rows.npy")
    _, out, _ = qckm_("drift", "monday.qckm", "wednesday.qckm", "--json", "--report", "drift.html")
    for change in json.loads(out)["columns"]:
        then, now = rows[:1500, int(change["column"])], rows[1500:, int(change["column"])] + 0.7
        told = [change[name] for name in ("mean_before", "mean_after", "deviation_before", "deviation_after")]
        np.testing.assert_allclose(told, [then.mean(), now.mean(), then.std(), now.std()], atol=2e-3)
    assert "in deviations" in (windows / "drift.html").read_text()


def test_what_may_be_wrong_stands_on_the_page_and_survives_quiet(windows, qckm_):
    words = ("drift", "monday.qckm", "monday.qckm", "--report", "drift.html")
    code, out, err = qckm_(*words, "--quiet")
    assert (code, out) == (0, b"")
    assert "warning: both windows are the same sum" in err
    assert "Warning: both windows are the same sum" in (windows / "drift.html").read_text()
    assert b"both windows are the same sum" in qckm_(*words)[1]


def test_parts_change_sides(windows, qckm_):
    code, out, _ = qckm_("drift", "hour-[0-3].qckm", "--against", "hour-[4-7].qckm", "--blocks", "--json")
    assert code == 0
    assert json.loads(out)["blocks"] == [4, 4]
