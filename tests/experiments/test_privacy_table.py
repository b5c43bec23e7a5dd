"""The guide's figures come from the table of runs: medians, counts of flags, peers, and nothing that was not run."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

import privacy_table


def line(point, seed, method, ratio, converged="True", code="a"):
    names = ("point", "seed", "method", "sse_ratio", "converged", "code")
    return dict(zip(names, (point, str(seed), method, str(ratio), converged, code), strict=True))


AUDIT = privacy_table.read(privacy_table.RESULTS / "privacy_audit.csv")
LINES = [
    line("scale-10000-0.3", 0, "qckm", 1.02),
    line("scale-10000-0.3", 1, "qckm", 1.04),
    line("scale-10000-0.3", 2, "qckm", 1.3, "False"),
    line("skin_segmentation-1", 0, "qckm", 1.01),
    line("skin_segmentation-1", 0, "dp-lloyd", 1.4, ""),
    line("skin_segmentation-1", 0, "diffprivlib", 1.005, ""),
]


def test_a_point_has_its_median_mean_and_flags():
    assert privacy_table.synthetic_table(LINES)[2:] == [
        "| public scale, 10 000 rows, ε = 0.3 | 3 000 | 3 | 1.040 | 1.120 | 1.300 | 1 | ≤ 1.05 |"
    ]


def test_peers_are_beside_real_data_and_who_is_ahead_is_counted():
    (row,) = privacy_table.real_table(LINES)[2:]
    assert row == "| skin | 1 | 1 | 1.010 | 1.010 | 1.010 | 0 | 1.40 | 1.00 | 0 of 1 |"


def test_the_verdict_is_counted_and_mixed_code_is_told():
    words = " ".join(privacy_table.sentences(LINES, AUDIT))
    assert "1 of 1 above 1.2 were flagged" in words
    assert "0 of 3 below 1.1" in words
    assert "versions of the sources" not in words
    assert "2 versions of the sources" in " ".join(
        privacy_table.sentences([*LINES, line("local-2", 0, "qckm", 1.0, code="b")], AUDIT)
    )


def test_only_what_is_between_the_marks_of_the_guide_is_replaced():
    page = privacy_table.GUIDE.read_text()
    filled = privacy_table.fill(page, ["| figures |"])
    assert privacy_table.fill(filled, ["| figures |"]) == filled
    assert filled.split(privacy_table.BEGIN)[0] == page.split(privacy_table.BEGIN)[0]
    assert filled.split(privacy_table.END, 1)[1] == page.split(privacy_table.END, 1)[1]
