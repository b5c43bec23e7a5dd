"""Lost, repeated, reordered, damaged, foreign: the sum is that of the messages that came, each once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qckm
from qckm.errors import MessageError
from qckm.sensor import Pool, wire

op = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)
other = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=1)
N_DEVICES, N_MESSAGES, N_ROWS = 3, 6, 4
ROWS = np.random.default_rng(0).normal(size=(N_DEVICES, N_MESSAGES, N_ROWS, 2))


def message(device, sequence):
    """Bits, or every third time counters."""
    rows = ROWS[device, sequence]
    if sequence % 3 == 2:
        return wire.dumps(wire.counters_message(op.sketch(rows), device, sequence))
    return wire.dumps(wire.bits_message(op, op.encode(rows), device, sequence))


ALL = [(device, sequence) for device in range(N_DEVICES) for sequence in range(N_MESSAGES)]


def sketch_of(pairs):
    return sum((op.sketch(ROWS[pair]) for pair in pairs), start=op.empty())


@given(order=st.lists(st.sampled_from(ALL), max_size=60))
def test_each_message_counts_once_in_any_order(order):
    pool = Pool(op)
    for pair in order:
        pool.add(message(*pair))
    assert pool.sketch == sketch_of(set(order))
    assert sum(device.repeated for device in pool.devices.values()) == len(order) - len(set(order))
    for number, device in pool.devices.items():
        came = {sequence for owner, sequence in order if owner == number}
        lost = set(range(max(came))) - came
        assert device.missing == len(lost)
        assert {s for first, last in device.gaps() for s in range(first, last + 1)} == lost


def same(pool, sketch, count):
    return pool.sketch == sketch and pool.count == count == pool.sketch.count


@pytest.mark.parametrize(
    "bad, words",
    [
        (message(1, 0)[:-1], "device 1, sequence 0: .*cut short"),
        (message(1, 0)[:40] + b"?" + message(1, 0)[41:], "device 1, sequence 0: .*CRC"),
        (
            wire.dumps(wire.bits_message(other, other.encode(ROWS[1, 0]), 1, 5)),
            "device 1, sequence 5: of another operator",
        ),
        (wire.dumps(wire.bits_message(op, op.encode(ROWS[2, 0]), 1, 4)), "device 1, sequence 4: another message of"),
        (b"Qk", "cut short"),
        (b"something else that is long enough", "do not start as one"),
    ],
)
def test_a_bad_message_is_named_and_changes_nothing(bad, words):
    pool = Pool(op)
    pool.add(message(0, 0))
    pool.add(message(1, 4))
    sketch, count = pool.sketch, pool.count
    with pytest.raises(MessageError, match=words):
        pool.add(bad)
    assert same(pool, sketch, count)
    told = {facts["device"]: facts for facts in pool.report()}
    assert set(told) == {0, 1}
    assert told[1]["refused"] + pool.unreadable == 1
    assert told[1]["messages"] == 1


def test_a_replayed_message_is_told_and_changes_nothing():
    pool = Pool(op)
    assert pool.add(message(0, 0))
    sketch = pool.sketch
    assert not pool.add(message(0, 0))
    assert same(pool, sketch, N_ROWS)
    assert pool.devices[0].repeated == 1


@given(
    damage=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), max_size=4),
    cut=st.integers(0, 200),
)
def test_a_damaged_stream_loses_only_what_was_hit(damage, cut):
    parts = [message(*pair) for pair in ALL]
    starts = np.cumsum([0, *map(len, parts)])
    data = bytearray(b"".join(parts))
    hit = {}
    for at, flip in damage:
        at %= len(data)
        hit[at] = hit.get(at, 0) ^ flip
    for at, flip in hit.items():
        data[at] ^= flip
    end = len(data) - cut
    whole = [
        pair
        for pair, start, stop in zip(ALL, starts, starts[1:], strict=False)
        if stop <= end and not any(flip and start <= at < stop for at, flip in hit.items())
    ]
    pool = Pool(op)
    errors = list(pool.add_stream(bytes(data[:end])))
    assert pool.sketch == sketch_of(whole)
    assert len(errors) <= len(hit) + 1
    refused = pool.unreadable + sum(facts["refused"] for facts in pool.report())
    assert refused == len(errors)


def test_a_stream_goes_on_behind_a_foreign_message():
    foreign = wire.dumps(wire.bits_message(other, other.encode(ROWS[1, 0]), 1, 0))
    pool = Pool(op)
    (error,) = pool.add_stream(message(0, 0) + foreign + message(2, 1))
    assert "device 1, sequence 0" in str(error)
    assert pool.sketch == sketch_of([(0, 0), (2, 1)])


def test_damage_counts_for_the_device_that_is_known_by_other_messages():
    broken = bytearray(message(1, 0))
    broken[35] ^= 1
    pool = Pool(op)
    list(pool.add_stream(bytes(broken)))
    assert pool.unreadable == 1  # nobody has heard of device 1 so far
    pool.add(message(1, 1))
    assert pool.unreadable == 0
    (told,) = pool.report()
    assert (told["refused"], told["missing"], told["gaps"]) == (1, 1, [(0, 0)])


def test_an_empty_pool_is_an_empty_sketch():
    assert Pool(op).sketch == op.empty()
    assert Pool(op).report() == []
