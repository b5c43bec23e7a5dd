"""One private bit per device: what is sent, what is pooled, and that nothing is biased."""

import math
import struct

import numpy as np
import pytest

import qckm
from qckm.errors import MessageError, PrivacyError, UncountedWarning
from qckm.privacy import LocalPool, LocalReporter, pool_reports
from qckm.privacy.local import ALL, Report, choose_bits, debiased, dumps, keep_chance, loads
from qckm.sensor import Pool, wire

OP = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=10, octaves=1, random_state=0)
ROW = np.array([1.0, -2.0])


def reports(count, epsilon=1.0, **wishes):
    return [LocalReporter(OP, epsilon, device=device, **wishes).report(ROW) for device in range(count)]


def test_a_report_never_spends_more_than_epsilon():
    for epsilon in (0.01, 0.5, 1.0, 4.0, 9.0):
        s = choose_bits(epsilon)
        kept = keep_chance(epsilon, s)
        assert epsilon * (1 - 1e-6) - 1e-8 <= s * math.log(kept / (ALL - kept)) <= epsilon
        assert loads(LocalReporter(OP, epsilon).report(ROW)).epsilon <= epsilon


def test_a_report_is_the_row_s_bit_or_its_opposite():
    bits = np.unpackbits(OP.encode(ROW[np.newaxis])[0], bitorder="little")
    reporter = LocalReporter(OP, 1.0)
    for index in range(OP.n_measurements):
        which = -(-(index << 32) // OP.n_measurements)  # the least number that chooses this measurement
        for coin, turned in ((0, 0), (reporter.kept - 1, 0), (reporter.kept, 1), ((1 << 32) - 1, 1)):
            (entry,) = loads(reporter.report(ROW, struct.pack("<II", which, coin))).entries
            assert entry == index << 1 | bits[index] ^ turned


@pytest.mark.parametrize("n_bits", [1, 3])
def test_debiasing_is_exact_in_expectation(n_bits):
    """What M·2³² reports of a row add up to on average is a whole number: debiased, the row's own contribution."""
    kept, M = keep_chance(1.0, n_bits), OP.n_measurements
    row = 1 - 2 * np.unpackbits(OP.encode(ROW[np.newaxis])[0], bitorder="little")[:M].astype(np.int64)
    # A report chooses a measurement with the chance 1/M, s times, and tells its bit kept − turned times in 2³².
    average = n_bits * (kept - (ALL - kept)) * row
    assert debiased(OP, average, M * ALL, kept, n_bits).total.tolist() == (M * ALL * row).tolist()


@pytest.mark.parametrize("n_bits", [1, 2, 3])
def test_the_variance_of_a_report_is_known_exactly(n_bits):
    """From all that its bits can say of one measurement: the row's bit, its opposite, nothing."""
    kept, M = keep_chance(1.0, n_bits), OP.n_measurements
    one_bit = np.array([(ALL - kept) / ALL / M, 1 - 1 / M, kept / ALL / M])
    chances = np.ones(1)
    for _ in range(n_bits):
        chances = np.convolve(chances, one_bit)
    told = np.arange(-n_bits, n_bits + 1) * M / n_bits / (2 * kept / ALL - 1)
    mean = chances @ told
    assert mean == pytest.approx(1)
    known = debiased(OP, np.zeros(M, np.int64), 1, kept, n_bits).ledger.sum_variance
    assert known == pytest.approx(chances @ (told - mean) ** 2, rel=1e-9)


def test_the_known_variance_is_that_of_the_reports():
    """Of 400 pools of 200 reports: the variance is known to a tenth, at five standard errors of 20 · 400 numbers."""
    rng = np.random.default_rng(0)
    s, kept, M, N = 2, keep_chance(1.0, 2), OP.n_measurements, 200
    truth = 1 - 2 * np.unpackbits(OP.encode(ROW[np.newaxis])[0], bitorder="little")[:M].astype(int)
    found = []
    for _ in range(400):
        index = rng.integers(M, size=N * s)
        signs = truth[index] * np.where(rng.random(N * s) < kept / ALL, 1, -1)
        total = np.bincount(index, signs, M).astype(np.int64)
        found.append(debiased(OP, total, N, kept, s).total - N * truth)
    variance = debiased(OP, np.zeros(M, np.int64), N, kept, s).ledger.sum_variance
    assert np.mean(np.square(found)) == pytest.approx(variance, rel=0.1)
    assert abs(np.mean(found)) < 5 * math.sqrt(variance / np.size(found))


def test_reports_make_a_private_sketch():
    sketch = pool_reports(OP, reports(50))
    assert sketch.private
    assert sketch.count == 50
    assert sketch.ledger.mechanism == "randomised-response"
    assert 0.999 < sketch.ledger.epsilon <= 1.0
    assert qckm.files.loads(qckm.files.dumps(sketch)) == sketch


def test_a_device_that_reports_twice_has_spent_twice():
    reporter = LocalReporter(OP, 1.0)
    sketch = pool_reports(OP, [reporter.report(ROW), reporter.report(ROW)])
    assert 1.999 < sketch.ledger.epsilon <= 2.0


def test_what_reports_spend_adds_up_bit_by_bit_also_as_rho():
    kept = keep_chance(4.0, 2)
    of_a_bit = math.log(kept / (ALL - kept))
    ledger = debiased(OP, np.zeros(OP.n_measurements, np.int64), 1, kept, 2, reports_per_device=3).ledger
    assert ledger.epsilon == pytest.approx(6 * of_a_bit)
    assert ledger.rho == pytest.approx(6 * of_a_bit**2 / 2)  # pure ε is ε²/2-zCDP


@pytest.mark.parametrize(("epsilon", "n_bits"), [(1e-6, None), (20.0 * 64, 64)])
def test_limits_of_a_report_are_allowed(epsilon, n_bits):
    report = loads(LocalReporter(OP, epsilon, n_bits).report([1.0, 2.0]))
    assert len(report.entries) == (n_bits or 1)
    assert report.epsilon <= epsilon


def test_reports_of_a_device_are_numbered():
    reporter = LocalReporter(OP, 1.0, device=7)
    assert [loads(reporter.report(ROW)).name for _ in range(3)] == [f"device 7, report {number}" for number in range(3)]


def test_the_box_of_pooled_reports_is_public():
    """It is the operator's ranges, or how far the operator reaches."""
    assert np.array_equal(pool_reports(OP, reports(3)).bounds, OP.ranges)
    drawn = qckm.SketchOperator.draw(2, 10, scale=1.0, random_state=0)
    assert np.array_equal(debiased(drawn, np.zeros(20, np.int64), 1, ALL - 1, 1).bounds, drawn.reach)


def test_a_sum_that_just_misses_64_bits_is_an_error_of_ours():
    doubled = OP.n_measurements * ALL // (ALL // 2)  # debiased with a bias of a half
    total = np.full(OP.n_measurements, 3 * 2**62 // doubled)
    with pytest.raises(MessageError, match="do not fit 64 bits"):
        debiased(OP, total, 2**40, 3 * ALL // 4, 1)


def test_pooled_reports_are_of_the_epsilon_that_was_asked_for():
    sent = reports(3) + [LocalReporter(OP, 2.0, device=device).report(ROW) for device in range(10, 15)]
    with pytest.warns(UncountedWarning, match="3 reports were counted, 0 are of another ε than these, 5 were refused"):
        assert pool_reports(OP, sent, epsilon=1.0).count == 3
    with pytest.warns(UncountedWarning, match="5 reports were counted, 3 are of another ε"):
        assert pool_reports(OP, sent).count == 5  # what most have


def test_of_as_many_reports_those_that_spent_less_count():
    sent = [LocalReporter(OP, epsilon, device=device).report(ROW) for device, epsilon in enumerate((2.0, 1.0))]
    for order in (sent, sent[::-1]):
        with pytest.warns(UncountedWarning, match="1 are of another"):
            assert pool_reports(OP, order).ledger.epsilon <= 1.0


def test_a_pool_is_named_by_the_least_digests_of_its_reports():
    sent = reports(40)
    names = pool_reports(OP, sent).ledger.releases
    assert len(names) == 32
    assert pool_reports(OP, sent[::-1]).ledger.releases == names
    every = sorted(pool_reports(OP, [report]).ledger.releases[0] for report in sent)
    assert sorted(names) == every[:32]


def test_a_report_is_counted_once():
    pool, (report, *_) = LocalPool(OP), reports(1)
    assert (pool.add(report), pool.add(report)) == (True, False)
    assert (pool.count, pool.repeated) == (1, 1)
    other = loads(report)._replace(entries=(loads(report).entries[0] ^ 1,))
    with pytest.raises(MessageError, match="in the sum already"):
        pool.add(dumps(other))


def test_reports_of_another_epsilon_or_operator_are_refused():
    with pytest.raises(MessageError, match="expected reports of ε = 1, got 2 "):
        LocalPool(OP, epsilon=1.0).add(LocalReporter(OP, 2.0, device=9).report(ROW))
    other = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=10, octaves=1, random_state=1)
    with pytest.raises(MessageError, match="another operator"):
        LocalPool(other).add(reports(1)[0])
    with pytest.raises(MessageError, match="private report"):
        Pool(OP).add(reports(1)[0])


def test_a_damaged_stream_loses_what_is_damaged_only():
    sent = reports(5)
    damaged = bytearray(b"".join(sent))
    damaged[len(sent[0]) + 20] ^= 1
    pool = LocalPool(OP)
    assert len(list(pool.add_stream(bytes(damaged)))) == 1
    assert pool.count == 4


@pytest.mark.parametrize(
    "report",
    [
        Report(OP.short_fingerprint, 0, 0, ALL // 2, (0,)),
        Report(OP.short_fingerprint, 0, 0, ALL - 1, ()),
        Report(OP.short_fingerprint, 0, 0, ALL - 1, (2 * OP.n_measurements,)),
    ],
)
def test_a_report_that_cannot_be_is_refused(report):
    with pytest.raises(MessageError, match="expected"):
        LocalPool(OP).add(dumps(report))


@pytest.mark.parametrize("payload", [b"", bytes(7), bytes(8)])
def test_a_report_without_a_chance_or_a_bit_is_refused(payload):
    message = wire.Message(wire.LOCAL, OP.short_fingerprint, 0, 0, 1, 0, payload)
    with pytest.raises(MessageError, match="device 0"):
        loads(wire.dumps(message))


def test_what_a_reporter_refuses():
    with pytest.raises(PrivacyError, match="epsilon"):
        LocalReporter(OP, 0.0)
    with pytest.raises(PrivacyError, match="one-bit"):
        LocalReporter(qckm.SketchOperator.draw(2, 5, 1.0, signature="exponential", random_state=0), 1.0)
    with pytest.raises(PrivacyError, match="random bytes"):
        LocalReporter(OP, 1.0).report(ROW, b"123")


@pytest.mark.parametrize("device", [-1, 1 << 32, 1.5, True, "7", None])
def test_a_device_is_a_number_of_32_bits(device):
    with pytest.raises(PrivacyError, match="Expected the device to be a whole number"):
        LocalReporter(OP, 1.0, device=device)


@pytest.mark.parametrize("n_bits", [0, 65, 1.0, True, "1"])
def test_a_report_has_a_whole_number_of_bits(n_bits):
    with pytest.raises(PrivacyError, match="Expected 1 to 64 bits"):
        LocalReporter(OP, 1.0, n_bits=n_bits)


def test_numbers_of_numpy_are_numbers():
    reporter = LocalReporter(OP, np.float32(1.0), n_bits=np.int64(2), device=np.uint32(7))
    assert loads(reporter.report(ROW)).device == 7
    with pytest.raises(PrivacyError, match="Expected an epsilon"):
        LocalReporter(OP, True)
    with pytest.raises(PrivacyError, match="Expected a SketchOperator"):
        LocalReporter(ROW, 1.0)


def test_a_bit_is_never_kept_for_certain():
    assert LocalReporter(OP, 1000.0, n_bits=1).kept == ALL - 1
