"""`qckm choose-k`: a table, a page and a picture of how many clusters there are."""

import pytest

OUTPUTS = ("--report", "c.html", "--plot", "c.svg", "--sketch", "s.qckm")


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    """Too few clusters are searched for in vain, for seconds: a tenth of that will do."""
    monkeypatch.setattr("qckm.decoding.search.attempts.EFFORT", 1e6)
    monkeypatch.setattr("qckm.decoding.targets.least_regret.PATIENCE", 1e7)


def test_three_clusters_are_found_in_data_and_in_their_sketch(folder, qckm_):
    code, out, err = qckm_(
        "choose-k",
        "rows.csv",
        "-k",
        "2-4",
        "--frequencies",
        40,
        "--report",
        "c.html",
        "--plot",
        "c.svg",
        "--sketch",
        "s.qckm",
    )
    assert code == 0, err
    lines = out.decode().splitlines()
    assert [line.endswith("←") for line in lines] == [False, False, True, False]
    assert lines[2].split()[0] == "3"
    assert "s.qckm: 3,000 rows, columns a, b" in err
    assert "K = 3 of 2 to 4 tried, from 3,000 rows, columns a, b" in err
    page = (folder / "c.html").read_text()
    assert "<h1>K = 3</h1>" in page
    assert "rows.csv" in page
    assert "<svg" in (folder / "c.svg").read_text()


def test_json_and_some_numbers(folder, qckm_, facts):
    qckm_("sketch", "rows.csv", "-k", 3, "-o", "s.qckm")
    found = facts("choose-k", "s.qckm", "-k", "3,1")
    assert (found["n_clusters"], found["ks"], found["rows"]) == (3, [1, 3], 3000)
    assert (found["groups"], found["agreement"]) == ([1, 3], 1)


def test_more_clusters_than_were_tried_are_a_warning(folder, qckm_):
    code, _, err = qckm_("choose-k", "rows.csv", "-k", "1-2", "--frequencies", 40, "--report", "c.html")
    assert code == 0
    assert "warning: There seem to be more clusters than the 2 tried" in err
    assert "Not clear." in (folder / "c.html").read_text()


@pytest.mark.parametrize("numbers", ["0-3", "5-2", "abc", "", "1,,2", "1-999"])
def test_numbers_that_are_none_are_refused(folder, qckm_, numbers):
    code, _, err = qckm_("choose-k", "rows.csv", "-k", numbers)
    assert code == 2
    assert "numbers" in err
