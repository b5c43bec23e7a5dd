"""Whether two sketches are of rows that are alike: what is said, how, and what is refused."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

import qckm
from qckm.drift.largest import _tails, sidak
from qckm.errors import DriftWarning, MergeError, QckmError, RowsError, SketchError


def operator(signature="one-bit", n=2, **options):
    return qckm.SketchOperator.draw(n, 100, 1.0, "gaussian", signature, random_state=0, **options)


def rows(seed, count=5000, n=2):
    return np.random.default_rng(seed).normal(size=(count, n))


@pytest.fixture(scope="module")
def op():
    return operator()


def test_rows_that_are_alike_are_said_to_be(op):
    found = qckm.compare(op.sketch(rows(0)), op.sketch(rows(1)))
    assert not found.drifted
    assert found.statistic_name == "largest"
    assert "no drift found: p = " in found.summary()
    assert repr(found).startswith("Drift(drifted=False, effect=0")
    assert found.to_dict()["rows"] == [5000, 5000]
    assert found.weight_changes is None


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "2-bit", "triangle", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_a_change_is_found_with_every_signature(signature, dither):
    op = operator(signature, dither=dither)
    found = qckm.compare(op.sketch(rows(0)), op.sketch(rows(1) + 0.5))
    assert found.drifted
    assert not qckm.compare(op.sketch(rows(0)), op.sketch(rows(2))).drifted


def test_false_alarms_are_rare(op):
    """At 5 %, more than 12 alarms of 100 are less likely than 1 in 1000; the seeds are fixed."""
    reference = qckm.Reference.of(op, rows(0, 2000))
    alarms = {"largest": 0, "squares": 0, "whitened": 0}
    for seed in range(1, 101):
        a, b = op.sketch(rows(seed, 600)), op.sketch(rows(seed + 1000, 600))
        for name in alarms:
            alarms[name] += qckm.compare(a, b, None if name == "largest" else reference, statistic=name).drifted
    assert max(alarms.values()) <= 12
    assert alarms["whitened"] > 0


def test_a_reference_finds_what_the_test_without_rows_does_not(op):
    a, b = rows(0, 20_000), rows(1, 20_000)
    b[:200] = [3.0, 0.0]
    alone = qckm.compare(op.sketch(a), op.sketch(b))
    helped = qckm.compare(op.sketch(a), op.sketch(b), rows(2, 3000))
    assert helped.drifted
    assert helped.pvalue < alone.pvalue
    assert (helped.statistic_name, helped.reference_rows) == ("whitened", 3000)


def test_proportions_are_compared_exactly():
    cases = [(3, 10, 12, 30), (0, 5, 20, 9), (7, 7, 7, 50), (400, 700, 1000, 900)]
    for mine, both, first, second in cases:
        other = both - mine
        table = [[mine, first - mine], [other, second - other]]
        side = "less" if mine < first * both / (first + second) else "greater"
        expected = fisher_exact(table, side).pvalue
        assert _tails(np.array([mine]), np.array([both]), float(first), float(second))[0] == pytest.approx(expected)


def test_sidak_is_nothing_for_one_test_and_one_at_most():
    assert sidak(0.3, 1) == pytest.approx(0.3)
    assert sidak(1.0, 100) == 1.0
    assert sidak(0.0, 100) == 0.0


def test_the_same_sum_twice_is_noticed(op):
    a = op.sketch(rows(0))
    with pytest.warns(DriftWarning, match="the same rows"):
        found = qckm.compare(a, a)
    assert found.pvalue == 1.0
    assert "the same sum" in found.summary()


def test_windows_that_overlap_are_told_apart_by_subtraction(op):
    first, more = rows(0), rows(1) + 0.5
    a, both = op.sketch(first), op.sketch(np.concatenate([first, more]))
    assert qckm.compare(a, both - a).pvalue == qckm.compare(a, op.sketch(more)).pvalue


def test_what_cannot_be_compared_is_refused(op):
    a = op.sketch(rows(0))
    with pytest.raises(MergeError, match="Cannot compare sketches of"):
        qckm.compare(a, qckm.SketchOperator.draw(2, 100, 1.0, random_state=1).sketch(rows(0)))
    with pytest.raises(SketchError, match="a sketch of none in the second window"):
        qckm.compare(a, op.empty())
    with pytest.raises(SketchError, match="empty list"):
        qckm.compare([], a)
    with pytest.raises(QckmError, match="Expected a Sketch, got ndarray"):
        qckm.compare(a, rows(0))
    with pytest.raises(QckmError, match="level between 0 and 1"):
        qckm.compare(a, a, level=5)
    with pytest.raises(QckmError, match="statistic among"):
        qckm.compare(a, a, statistic="best")
    with pytest.raises(SketchError, match="a reference for the statistic"):
        qckm.compare(a, op.sketch(rows(1)), statistic="whitened")
    with pytest.raises(RowsError, match="2000 rows or more, got 500"):
        qckm.compare(a, op.sketch(rows(1)), rows(2, 500))
    with pytest.raises(SketchError, match="real-valued weights"):
        qckm.compare(a, op.sketch(rows(1), sample_weight=np.full(5000, 0.5)))


def test_one_row_tells_nothing(op):
    found = qckm.compare(op.sketch(rows(0, 1)), op.sketch(rows(1, 1)))
    assert found.pvalue == 1.0
    assert qckm.compare(op.sketch(rows(0, 1)), op.sketch(rows(1, 10_000))).pvalue > 0.05


def test_a_constant_column_is_no_matter():
    op = operator(n=3)
    a, b = (np.column_stack([rows(seed), np.ones(5000)]) for seed in range(2))
    reference = np.column_stack([rows(2), np.ones(5000)])
    assert not qckm.compare(op.sketch(a), op.sketch(b)).drifted
    assert not qckm.compare(op.sketch(a), op.sketch(b), reference).drifted
    b[:, 2] = 1.5
    assert qckm.compare(op.sketch(a), op.sketch(b), reference).drifted
    same = op.sketch(np.ones((3000, 3)))
    assert qckm.compare(same, op.sketch(np.ones((2000, 3))), np.ones((2000, 3))).pvalue == 1.0


def test_a_reference_is_left_out_where_it_cannot_be_trusted(op):
    reference = qckm.Reference.of(op, rows(2, 2500))
    few = qckm.compare(op.sketch(rows(0, 400)), op.sketch(rows(1, 400)), reference)
    assert few.statistic_name == "largest"
    assert "windows of 500 rows" in few.notes[0]
    with pytest.raises(SketchError, match="use 'largest'"):
        qckm.compare(op.sketch(rows(0, 400)), op.sketch(rows(1, 400)), reference, statistic="squares")
    far = [op.sketch(rows(seed) + 2) for seed in range(2)]
    with pytest.warns(DriftWarning, match="like neither window"):
        other = qckm.compare(*far, reference)
    assert (other.statistic_name, other.reference_rows) == ("largest", 0)
    with pytest.raises(SketchError, match="neither window is like"):
        qckm.compare(*far, reference, statistic="whitened")


def test_a_reference_of_another_operator_is_refused(op):
    other = qckm.SketchOperator.draw(2, 100, 1.0, random_state=1)
    with pytest.raises(MergeError, match="Cannot compare"):
        qckm.compare(op.sketch(rows(0)), op.sketch(rows(1)), qckm.Reference.of(other, rows(2)))


def test_importing_qckm_does_not_import_drift():
    import subprocess
    import sys

    code = """
import qckm, sys
assert not any(name.startswith("qckm.drift") for name in sys.modules)
qckm.compare
assert "scipy.stats" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_private_sketches_are_refused():
    pytest.importorskip("opendp")
    operator = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, random_state=0)
    sketch = operator.sketch(np.random.default_rng(0).normal(size=(1000, 2)))
    released = qckm.privacy.release(sketch, epsilon=1.0, delta=1e-6)
    for pair in ((sketch, released), (released, sketch), (released, released)):
        with pytest.raises(QckmError, match="Private sketches cannot be compared"):
            qckm.compare(*pair)
