"""Holes in what may be released that attacks found in the second round (issue 33), by their numbers there."""

import json
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.cli import run
from qckm.errors import MergeError, MessageError, PoorFitWarning, PrivacyError, SketchError, UncountedWarning
from qckm.privacy import LocalPool, LocalReporter, epsilon_of, pool_reports, release
from qckm.privacy.local import ALL, Report, dumps, loads
from qckm.privacy.local_pool import _Seen
from qckm.sketch.ledger import Spent, both, either

ROWS = np.random.default_rng(0).normal(size=(2000, 2)).clip(-5, 5)
OP = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=20, octaves=1, random_state=0)


def private(rows, **wishes):
    return release(OP.sketch(rows), **{"epsilon": 1.0, "delta": 1e-6, **wishes})


def reports(devices, epsilon=1.0, **wishes):
    """Return the first report of each device: twice the same one, with some chance, as it is of few bits."""
    return [LocalReporter(OP, epsilon, device=device, **wishes).report(ROWS[device]) for device in devices]


# --- 1: masks are gone; every shop adds noise of its own ---


def test_1_there_are_no_masks():
    assert not {"Masker", "MaskedSketch", "unmask"} & set(dir(qckm.privacy))


def test_1_private_sketches_of_40_shops_are_one_private_sketch():
    shops = [private(rows) for rows in np.array_split(ROWS, 40)]
    total = sum(shops)
    assert total.ledger.epsilon_at(1e-6) == shops[0].ledger.epsilon_at(1e-6) <= 1
    assert total.ledger.sum_variance == pytest.approx(40 * shops[0].ledger.sum_variance)
    assert total.ledger.count_variance == pytest.approx(40 * shops[0].ledger.count_variance)
    assert len(total.ledger.releases) == 40
    assert qckm.files.loads(qckm.files.dumps(total)) == total
    # Of 40 measurements the mean square is beyond these once in 10⁶ releases.
    off = total.total - OP.sketch(ROWS).total
    assert 0.1 < (off**2).mean() / total.ledger.sum_variance < 2.4


def test_1_a_shop_cannot_be_counted_twice_and_a_weight_cannot_be_lost():
    shops = [private(rows) for rows in np.array_split(ROWS, 3)]
    with pytest.raises(MergeError, match="count twice"):
        sum(shops) + shops[1]
    heavy = OP.sketch(ROWS, np.full(len(ROWS), 10**6))
    with pytest.raises(PrivacyError, match="max_weight"):
        release(heavy, epsilon=1.0, delta=1e-6)
    with pytest.raises(MergeError, match="different promises"):
        shops[0] + release(heavy, epsilon=1.0, delta=1e-6, max_weight=10**6)


def test_1_a_ledger_of_more_names_than_a_file_holds_is_refused_when_it_is_made():
    shops = [private(rows) for rows in np.array_split(ROWS, 2)]
    full = replace(shops[0].ledger, releases=tuple(map(str, range(2**16 - 1))))
    with pytest.raises(MergeError, match="less than 65536 releases"):
        full.merged(shops[1].ledger)


# --- 2: local reports ---


def test_2_the_same_reports_do_not_count_twice_through_two_pools():
    sent = reports(range(200))
    one, other = LocalPool(OP), LocalPool(OP)
    for report in sent:
        one.add(report)
        other.add(report)
    for first, second in ((one.sketch, one.sketch), (one.sketch, other.sketch)):
        with pytest.raises(MergeError, match="count twice"):
            first + second
    before = one.sketch
    one.add(reports([200])[0])  # most of them are in both
    with pytest.raises(MergeError, match="count twice"):
        before + one.sketch


def test_2_a_device_in_two_pools_has_spent_twice():
    monday, tuesday = (pool_reports(OP, reports(range(50), epsilon)) for epsilon in (1.0, 2.0))
    both_days = monday + tuesday
    assert both_days.ledger.epsilon == pytest.approx(3.0, rel=1e-6)
    assert both_days.ledger.rows_per_person == 2
    few = pool_reports(OP, reports(range(100, 109)))
    assert (both_days + few).ledger.epsilon == pytest.approx(4.0, rel=1e-6)
    central = private(ROWS[:50], neighbours="replace")
    mixed = central + monday
    assert mixed.ledger.mechanism == "gaussian and randomised-response"
    assert (mixed + pool_reports(OP, reports(range(60, 70)))).ledger.epsilon_at() == pytest.approx(2, rel=1e-5)


def test_2_a_forged_report_that_is_read_first_fixes_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    forged = LocalReporter(OP, 7.0, device=999).report(ROWS[0])
    honest = reports(range(500))
    OP.empty().save("op.qckm")
    (tmp_path / "reports").write_bytes(forged + b"".join(honest))
    assert run(["pool", "reports", "--local", "--operator", "op.qckm", "-o", "sum.qckm", "--json"]) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out)["reports"], json.loads(out)["left_out"]) == (500, 1)
    assert "500 reports counted; 1 of another ε, left out. private: ε = 1 for one row replaced" in err
    assert qckm.load("sum.qckm").count == 500
    assert run(["pool", "reports", "--local", "--epsilon", "7", "--operator", "op.qckm", "-o", "one.qckm"]) == 0
    assert qckm.load("one.qckm").count == 1


@pytest.mark.parametrize("kept", [ALL // 2 + 1, ALL // 2 + 15])
def test_2_a_chance_that_no_device_has_is_refused(kept):
    with pytest.raises(MessageError, match="each kept with a chance above a half"):
        LocalPool(OP).add(dumps(Report(OP.short_fingerprint, 0, 0, kept, (0,))))
    for n_bits in (1, 64):
        LocalPool(OP).add(LocalReporter(OP, 1e-6, n_bits).report(ROWS[0]))


def test_2_sums_that_do_not_fit_64_bits_are_an_error_of_ours():
    from qckm.privacy.local import debiased

    with pytest.raises(MessageError, match="do not fit 64 bits"):
        debiased(OP, np.full(OP.n_measurements, 2**40), 2**40, ALL // 2 + 16, 1)


def test_2_a_forged_number_does_not_stop_the_others():
    sent = reports(range(20))
    (entry,) = loads(sent[3]).entries
    forged = dumps(loads(sent[3])._replace(entries=(entry ^ 1,)))
    with pytest.warns(UncountedWarning, match="20 reports were counted, 0 are of another ε .*device 3, report 0"):
        sketch = pool_reports(OP, [*sent[:4], forged, b"junk", *sent[4:]])
    assert sketch.count == 20
    assert sketch.total.tolist() == pool_reports(OP, sent).total.tolist()


def test_2_forged_reports_of_other_budgets_take_no_place():
    """Each of an ε of its own: of 500 honest reports that came later, none was counted, and of the forged ones one."""
    forged = [dumps(Report(OP.short_fingerprint, device, 0, ALL // 2 + 16 + device, (0,))) for device in range(500)]
    pool = LocalPool(OP)
    for report in (*forged, *reports(range(500))):
        assert pool.add(report)
    assert (pool.count, pool.left_out) == (500, 500)
    assert pool.sketch.ledger.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.nan, True, "1"])
def test_2_a_pool_is_of_a_number_above_0(epsilon):
    with pytest.raises(PrivacyError, match="Expected an epsilon > 0"):
        LocalPool(OP, epsilon)


@pytest.mark.parametrize(
    "row", [[np.nan, 1.0], [1.0, np.inf], [-np.inf, np.nan], [None, 1.0], [10**400, 1.0], ["", 1.0], [[1.0, 2.0], 1.0]]
)
def test_2_a_device_reports_whatever_its_row_holds(row):
    coins = np.random.default_rng(0).bytes(8 * 400)
    bits = [
        loads(LocalReporter(OP, 1.0).report(row, coins[8 * i : 8 * i + 8])).entries[0] & 1
        for i in range(400)  # 0 or 1 alike: within five deviations
    ]
    assert 150 < sum(bits) < 250


def test_2_a_device_takes_less_than_64_bytes_of_memory():
    """In a Python dictionary it took 240. The table has just grown: at no other size does it take more per device."""
    tracemalloc.start()
    seen, count = _Seen(), 3 * 2**14 + 1
    for key in range(count):
        assert seen.put(key << 32, key + 1) == 0
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used / count < 64
    assert all(seen.put(key << 32, 7) == key + 1 for key in range(0, count, 97))


# --- 4: local plus central ---


def test_4_local_and_central_spending_add_up_to_what_was_spent():
    local = pool_reports(OP, reports(range(300)))
    after = private(ROWS[:300], neighbours="replace", after=local)
    assert after.ledger.epsilon_at(1e-6) == pytest.approx(2.0, rel=1e-5)
    assert epsilon_of(after.ledger.rho, 1e-6) > 5  # all of it as ρ
    assert qckm.files.loads(qckm.files.dumps(after)).ledger == after.ledger
    other_rows = private(ROWS[300:], neighbours="replace") + local
    assert other_rows.ledger.epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-5)
    assert qckm.files.loads(qckm.files.dumps(other_rows)).ledger == other_rows.ledger
    assert private(ROWS, neighbours="replace", after=other_rows).ledger.epsilon_at(1e-6) == pytest.approx(2.0, rel=0.01)


def test_4_many_budgets_are_never_told_too_small():
    parts = [Spent(1.0 + i, 0.5, 40.0 - i) for i in range(40)]
    found = either(parts[:20], parts[20:])
    assert found == (Spent(40.0, 0.5, 40.0),)
    assert either(parts[:3], [Spent(9.0, 9.0, 99.0)]) == (Spent(9.0, 9.0, 99.0),)
    assert max(each.epsilon_at(1e-6) for each in both(parts[:2], parts[:2])) >= 2 * math.sqrt(40)


@pytest.mark.parametrize(
    "spent",
    [
        [],
        [[1, 2]],
        [[1.0, 0.5, 0.0]],
        [[0.0, 0.0, math.inf]],
        [[True, 0.5, 0.1]],
        [["1", 0.5, 0.1]],
        [[0, 0, 1e9]] * 17,
    ],
)
def test_4_what_a_file_says_was_spent_must_agree_with_its_ledger(spent):
    ledger = private(ROWS[:300], neighbours="replace", after=pool_reports(OP, reports(range(300)))).ledger
    with pytest.raises(SketchError):
        ledger.with_spending({"spent": spent})
    assert ledger.with_spending(ledger.spending_facts()) == ledger


def test_4_a_private_sketch_decoded_with_rows_is_no_private_model(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    private(ROWS, epsilon=100.0).save("public.qckm")
    np.save("rows.npy", ROWS[:100])
    assert run(["decode", "public.qckm", "-k", "2", "-o", "alone.json"]) == 0
    assert "not private" not in capfd.readouterr().err
    assert qckm.load_model("alone.json").facts["privacy"].startswith("private: ε = 100 at δ = 1e-06")
    assert run(["decode", "public.qckm", "-k", "2", "--rows", "rows.npy", "-o", "with.json"]) == 0
    words = "the model is not private: the rows of rows.npy are in it, and no noise hides them"
    assert f"warning: {words}" in capfd.readouterr().err
    assert qckm.load_model("with.json").facts["privacy"] == words


def noisy(op, rows, epsilon, seed):
    """Return a private sketch whose noise is drawn from a seed, so that a test does the same each time."""
    exact, n = op.sketch(rows), rows.shape[1]
    public = release(exact, epsilon=epsilon, delta=1e-6, operator_is_public=True, ranges=([-12.0] * n, [12.0] * n))
    noise = np.random.default_rng(seed).normal(size=exact.total.size) * public.ledger.sum_variance**0.5
    return replace(public, total=exact.total + np.rint(noise).astype(np.int64), count=exact.count)


def ring(rng):
    turns = rng.uniform(0, 2 * np.pi, 20_000)
    return 4 * np.stack([np.cos(turns), np.sin(turns)], axis=1) + 0.1 * rng.normal(size=(20_000, 2))


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning", "ignore::qckm.errors.RemarkWarning")
@pytest.mark.parametrize(("rows", "limited_by"), [(ring, "shape"), (lambda rng: rng.normal(size=(20_000, 2)), "noise")])
def test_4_what_gaussians_do_not_explain_is_searched_as_in_an_ordinary_sketch(rows, limited_by, monkeypatch):
    from qckm.decoding.search import scales

    begun = []
    inner = scales.search_in_noise
    monkeypatch.setattr(scales, "search_in_noise", lambda *some: begun.append(some) or inner(*some))
    op = qckm.SketchOperator.draw(2, 100, 2.2, "balanced-radius", random_state=1000)
    sketch = noisy(op, rows(np.random.default_rng(1000)), 0.1, 1000)
    found = qckm.decode(sketch, 3, random_state=0)
    assert bool(begun) is (limited_by == "noise")
    if limited_by == "shape":
        assert np.array_equal(found.centers, qckm.decode(replace(sketch, ledger=None), 3, random_state=0).centers)


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning", "ignore::qckm.errors.RemarkWarning")
def test_4_centroids_to_begin_at_do_not_skip_the_search_in_noise(monkeypatch):
    from qckm.decoding.search import scales

    begun = []
    inner = scales.search_in_noise
    monkeypatch.setattr(scales, "search_in_noise", lambda *some: begun.append(some[-1]) or inner(*some))
    start = np.array([[-1.0, 0.0], [1.0, 0.0]])
    qckm.decode(noisy(OP, ROWS, 100.0, 0), 2, init=start, random_state=0)
    assert len(begun) == 1
    assert begun[0].tolist() == start.tolist()


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")
def test_4_private_decoding_ends_when_it_is_told_to():
    from qckm.decoding.watching import watching

    rng, after, told = np.random.default_rng(1000), [], []
    places = np.array([[-6.0, -2.0], [-2.0, 6.0], [3.0, -2.0], [6.0, 6.0]])
    op = qckm.SketchOperator.draw(2, 100, 2.2, "balanced-radius", random_state=1000)
    sketch = noisy(op, places[rng.integers(4, size=20_000)] + rng.normal(size=(20_000, 2)), 0.02, 1000)

    def stop(step):
        told.append(step)
        if len(told) > 5:
            after.append(step)
        return bool(after)

    with watching(stop):
        found = qckm.decode(sketch, 5, random_state=0)
    assert len(after) < 60  # sketches drawn anew took as many again
    assert not found.converged  # nothing is known of what noise hides


def test_4_noise_is_not_blamed_for_what_gaussians_do_not_explain():
    """Of hardly any noise, little is to be regretted: it was 18 % on a ring, and 0.4 % for the same ordinary sums."""
    rows = ring(np.random.default_rng(1000))
    op = qckm.SketchOperator.draw(2, 100, 2.2, "balanced-radius", random_state=1000)
    assert qckm.decode(noisy(op, rows, 10.0, 1000), 5, random_state=0).excess_high < 0.12


def test_4_mixtures_and_principal_components_know_the_noise():
    rng = np.random.default_rng(1000)
    rows = (rng.normal(size=(20_000, 4)) * [1.6, 1.4, 1.0, 0.8]).clip(-12, 12)
    op = qckm.SketchOperator.draw(4, 100, 4.0, "balanced-radius", random_state=1000)
    quiet, loud = (noisy(op, rows, epsilon, 1000) for epsilon in (100.0, 0.05))
    with pytest.warns(PoorFitWarning):
        axes = qckm.CompressivePCA(1, random_state=0).fit_sketch(loud)
    assert axes.sine_ > 0.1  # a tenth of that without the noise; the truth is 0.22
    assert qckm.CompressivePCA(1, random_state=0).fit_sketch(quiet).sine_ < 0.1
    high = [
        qckm.CompressiveGaussianMixture(1, covariance_type="diag", random_state=0).fit_sketch(each).excess_high_
        for each in (quiet, loud)
    ]
    assert high[1] > 10 * high[0]
