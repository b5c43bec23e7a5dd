"""What a release gives, what it says, what it refuses, and what it never looks at."""

import math
from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.errors import MergeError, PrivacyError
from qckm.privacy import epsilon_of, mechanisms, release, rho_of
from qckm.sketch.sketch import Sketch

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(2000, 2)).clip(-5, 5)
OP = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=20, octaves=2, random_state=0)
SKETCH = OP.sketch(ROWS)


def private(sketch=SKETCH, **wishes):
    return release(sketch, **{"epsilon": 1.0, "delta": 1e-6, **wishes})


def test_a_release_has_noise_of_the_known_size_in_every_sum():
    op = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=500, octaves=2, random_state=0)
    exact = op.sketch(ROWS)
    public = private(exact)
    assert public.private
    # 2000 measurements: the mean of their squares has a deviation of √(2/2000), so that this is six of them.
    assert 0.8 < ((public.total - exact.total) ** 2).mean() / public.ledger.sum_variance < 1.2
    assert abs(public.count - exact.count) < 6 * public.ledger.count_variance**0.5


def test_nothing_else_of_the_rows_is_in_it():
    seen = OP.sketch(np.concatenate([ROWS, [[400.0, -400.0]]]))
    noted = Sketch(OP, seen.total, seen.count, seen.saturated, seen.bounds, skipped=7)
    public = private(noted)
    assert (public.saturated, public.skipped, public.weighted) == (0, 0, False)
    assert np.array_equal(public.bounds, OP.ranges)


class Secret(Sketch):
    """A sketch of which a release may read what is named here, and nothing else."""

    READ = ("operator", "total", "count", "exact", "weighted", "ledger", "private")

    def __getattribute__(self, name):
        if not name.startswith("__") and name not in Secret.READ:
            raise AssertionError(f"a release has read {name}")
        return super().__getattribute__(name)


@pytest.mark.parametrize("budget", [{"delta": 1e-6}, {"mechanism": "laplace"}])
def test_a_release_reads_sums_and_count_and_they_go_into_the_noise_alone(monkeypatch, budget):
    """With noise that hides everything (its outcome is fixed), releases of any two data sets are the same."""
    given = []

    def fixed(numbers):
        given.append(numbers)
        return list(range(len(numbers)))

    for name in ("gaussian", "laplace"):
        original = getattr(mechanisms, name)
        monkeypatch.setattr(mechanisms, name, lambda *a, original=original: replace(original(*a), add=fixed))
    far = OP.sketch(np.concatenate([7 * ROWS, [[400.0, -400.0]]]))  # other sums, bounds, counts, column sums; clipped
    found = []
    for sketch in (SKETCH, replace(far, skipped=7)):
        secret = object.__new__(Secret)
        secret.__dict__.update(vars(sketch))
        found.append(release(secret, epsilon=1.0, **budget))
    one, other = (replace(each, ledger=replace(each.ledger, releases=("r",))) for each in found)
    assert qckm.files.dumps(one) == qckm.files.dumps(other)
    assert [numbers[:-1] for numbers in given] == [SKETCH.total.tolist(), far.total.tolist()]


def test_neighbours_with_a_bad_row_behave_alike():
    """A row that cannot be sketched is skipped and counted; the count of such rows is not released."""
    with_bad = qckm.sketch_source(OP, np.concatenate([ROWS, [[np.nan, 1.0]]]), on_bad="skip")
    assert with_bad.skipped == 1
    for sketch in (with_bad, SKETCH):
        public = private(sketch)
        assert public.skipped == 0
        assert public.ledger.sum_variance == private().ledger.sum_variance


def test_no_rows_are_released_like_some():
    public = private(OP.empty())
    assert public.private
    assert public.count >= 1
    assert qckm.files.loads(qckm.files.dumps(public)) == public


@pytest.mark.parametrize(
    "wishes, factor",
    [({"neighbours": "replace"}, 2.0), ({"rows_per_person": 3}, 3.0), ({"max_weight": 4}, 4.0)],
)
def test_more_that_can_change_means_more_noise(wishes, factor):
    more, usual = private(**wishes).ledger, private().ledger
    assert math.sqrt(more.sum_variance / usual.sum_variance) == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_noise_hides_the_count_too_where_it_changes(neighbours, rows):
    ledger = release(OP.sketch(ROWS), rho=0.5, neighbours=neighbours, rows_per_person=rows).ledger
    change = OP.n_measurements  # of one row, squared: each sum by one
    if neighbours == "add-remove":
        change += ledger.sum_variance / ledger.count_variance  # the count's weight, squared
    change *= (rows * (2 if neighbours == "replace" else 1)) ** 2
    assert change <= ledger.sum_variance * 2 * 0.5 < 1.0001 * change


def test_the_ledger_says_what_was_asked_for():
    ledger = private(epsilon=0.7, delta=1e-5).ledger
    assert 0.699 < ledger.epsilon_at(1e-5) <= 0.7
    assert "ε = 0.7 at δ = 1e-05" in ledger.in_words()
    assert private(rho=0.1, epsilon=None, delta=None).ledger.rho == pytest.approx(0.1)
    assert private(mechanism="laplace", delta=None).ledger.epsilon == pytest.approx(1.0)


def test_spending_adds_up_over_releases_of_the_same_rows():
    first = private()
    second = private(after=[first])
    third = private(after=[first, second])
    assert second.ledger.rho == pytest.approx(2 * first.ledger.rho)
    assert third.ledger.rho == pytest.approx(3 * first.ledger.rho)
    with pytest.raises(PrivacyError, match="counted twice"):
        private(after=[second, private(after=[first])])


def test_merges_of_different_rows_take_the_maximum_and_add_variances():
    small, large = private(epsilon=0.5), private(epsilon=2.0)
    both = small + large
    assert both.ledger.rho == large.ledger.rho
    assert both.ledger.sum_variance == small.ledger.sum_variance + large.ledger.sum_variance
    assert both.count == small.count + large.count
    assert qckm.files.loads(qckm.files.dumps(both)) == both


def test_sums_that_would_show_a_row_are_refused():
    public = private()
    for wrong in (lambda: public + SKETCH, lambda: SKETCH + public, lambda: public - SKETCH, lambda: SKETCH - public):
        with pytest.raises(MergeError, match="private"):
            wrong()
    with pytest.raises(MergeError, match="twice"):
        public + public
    with pytest.raises(MergeError, match="promises"):
        public + private(neighbours="replace")


@pytest.mark.parametrize(
    "sketch, wishes, words",
    [
        (OP.sketch(ROWS, np.full(len(ROWS), 0.5)), {}, "Real-valued weights"),
        (OP.sketch(ROWS, np.full(len(ROWS), 2)), {}, "need a bound"),
        (qckm.SketchOperator.draw(2, 20, 1.0, random_state=0).sketch(ROWS), {}, "may have been drawn from the rows"),
        (SKETCH, {"delta": None}, "takes epsilon and a delta"),
        (SKETCH, {"rho": 1.0}, "one of the two"),
        (SKETCH, {"mechanism": "laplace"}, "takes epsilon alone"),
        (SKETCH, {"mechanism": "magic"}, "gaussian"),
        (SKETCH, {"epsilon": -1.0}, "epsilon"),
        (SKETCH, {"epsilon": math.nan}, "epsilon"),
        (SKETCH, {"rows_per_person": 0}, "rows_per_person"),
        (SKETCH, {"after": [SKETCH]}, "private sketches as earlier"),
        (SKETCH, {"ranges": ([0, 0], [0, 1])}, "ranges"),
    ],
)
def test_what_cannot_be_protected_is_refused(sketch, wishes, words):
    with pytest.raises(PrivacyError, match=words):
        private(sketch, **wishes)


def test_a_private_sketch_is_not_released_again():
    with pytest.raises(PrivacyError, match="already"):
        private(private())


def test_whole_number_weights_with_a_bound_are_released():
    weighted = OP.sketch(ROWS, np.full(len(ROWS), 2))
    assert weighted.weighted
    assert qckm.files.loads(qckm.files.dumps(weighted)).weighted
    assert private(weighted, max_weight=2).private


def test_rho_and_epsilon_are_those_of_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    for scale in (0.5, 3.0, 40.0):
        profile = dp.c.make_zCDP_to_approxDP(space >> dp.m.then_gaussian(scale)).map(1.0)
        for delta in (1e-3, 1e-6, 1e-9):
            ours, theirs = epsilon_of(1 / (2 * scale**2), delta), profile.epsilon(delta)
            assert theirs <= ours <= theirs * (1 + 1e-4)
    assert epsilon_of(rho_of(1.0, 1e-6), 1e-6) == pytest.approx(1.0, abs=1e-6)
    assert epsilon_of(rho_of(1.0, 1e-6), 1e-6) <= 1.0


def test_two_releases_of_the_same_rows_do_not_add_up():
    first = private()
    second = private(after=[first])
    for one, other in ((first, second), (second, first)):
        with pytest.raises(MergeError, match="the same rows"):
            one + other


@pytest.mark.parametrize("size", [1e-18, 1e300])
def test_budgets_beyond_all_measure_are_refused(size):
    for wishes in ({"mechanism": "laplace"}, {"delta": 1e-6}):
        with pytest.raises(PrivacyError, match="Expected epsilon from"):
            release(SKETCH, epsilon=size, **wishes)
    with pytest.raises(PrivacyError, match="noise is of a size"):
        release(SKETCH, rho=size**2 if size < 1 else size)


@pytest.mark.parametrize("ranges", [(-5, 5), ([-5], [5]), ([[-5, -5]], [[5, 5]]), ([-5, -5], [5]), 7, ("a", "b")])
def test_ranges_are_one_number_a_column(ranges):
    with pytest.raises(PrivacyError, match="Expected ranges as a pair"):
        private(ranges=ranges)


def test_the_box_of_a_release_is_public():
    """It is the operator's ranges, or how far the operator reaches, whatever the rows are."""
    drawn = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)
    assert np.array_equal(private(drawn.sketch(ROWS), operator_is_public=True).bounds, drawn.reach)
    assert np.array_equal(private().bounds, OP.ranges)
    assert np.array_equal(private(ranges=([-9, -8], [7, 6])).bounds, [[-9, -8], [7, 6]])


@pytest.mark.parametrize("name", ["epsilon", "delta", "rho"])
def test_a_budget_that_is_no_number_is_named(name):
    with pytest.raises(PrivacyError, match=f"Expected {name} to be a number"):
        private(**{name: "much"})
    with pytest.raises(PrivacyError, match=f"Expected {name} to be a finite number > 0"):
        private(**{name: 0.0})


def test_the_command_line_can_tell_what_to_do_about_an_operator_of_rows():
    with pytest.raises(PrivacyError) as refused:
        private(qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0).sketch(ROWS))
    assert refused.value.about == "public operator"


def test_budgets_may_be_numpy_s_numbers():
    public = release(SKETCH, epsilon=np.float32(0.5), delta=np.float64(1e-6))
    assert public.ledger.epsilon_at(1e-6) == pytest.approx(0.5)
    assert type(public.ledger.delta) is float
    for wrong in (True, np.bool_(True), "1", 10**400, np.float32(np.nan), np.array([1.0])):
        with pytest.raises(PrivacyError, match="Expected epsilon to be a"):
            private(epsilon=wrong)


def test_one_earlier_release_needs_no_list():
    first = private()
    for earlier in (first, first.ledger, [first]):
        assert private(after=earlier).ledger.rho == pytest.approx(2 * first.ledger.rho)
    with pytest.raises(PrivacyError, match="Expected private sketches as earlier releases, got int"):
        private(after=3)
