"""Messages to sums: exactly once, against a model that remembers everything."""

import numpy as np
import pytest

from collector.fleet import DEFAULT, NOON, OPERATOR, add_devices, arrivals, message, rows_of, whole
from qckm.collector import sums, upkeep
from qckm.collector.counting import count_messages
from qckm.collector.database import Database
from qckm.collector.refusals import Reason
from qckm.collector.settings import DAY, HOUR, Settings
from qckm.collector.windows import Asked


def count(db, data, devices, settings=DEFAULT, now=NOON):
    with db.writing():
        return count_messages(db, arrivals(data, devices, settings, now), settings, now)


def test_messages_in_any_order_and_number_give_the_sketch_of_their_rows(db):
    devices = add_devices(db, *(f"hall-{i % 3}/press-{i}" for i in range(10)))
    rng = np.random.default_rng(0)
    sent, rows = [], []
    for device in devices:
        for sequence in range(20):
            rows.append(rows_of(1000 * device.number + sequence, 5))
            kind = "bits" if sequence % 2 else "counters"
            sent.append(message(device, sequence % 10, rows[-1], boot=1 + sequence // 10, kind=kind))
    again = [sent[i] for i in rng.integers(0, len(sent), len(sent) // 5)]
    order = rng.permutation(len(sent) + len(again))
    accepted = 0
    for at in range(0, len(order), 17):
        batch = b"".join((sent + again)[i] for i in order[at : at + 17])
        accepted += count(db, batch, devices).count(True)
    assert accepted == len(sent)
    total = whole(db)
    expected = OPERATOR.pool(OPERATOR.encode(np.concatenate(rows)))
    assert total == expected
    assert total.count == 10 * 20 * 5
    assert sum(whole(db, group=f"hall-{i}").count for i in range(3)) == total.count
    assert list(upkeep.check(db)) == []


def test_what_was_counted_is_known_to_whoever_opens_the_store_next(db, tmp_path):
    (device,) = add_devices(db, "press")
    data = message(device, 0, rows_of(0))
    assert count(db, data, [device]) == [True]
    other = Database(str(tmp_path))
    assert count(other, data, [device]) == [False]
    other.close()
    assert whole(db).count == 100


def test_nothing_is_counted_if_the_transaction_fails(db):
    (device,) = add_devices(db, "press")
    data = message(device, 0, rows_of(0))

    def fail():
        with db.writing():
            count_messages(db, arrivals(data, [device]), Settings(), NOON)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert whole(db).count == 0
    assert count(db, data, [device]) == [True]


def test_a_number_used_twice_an_old_number_and_an_old_boot_are_refused(db):
    (device,) = add_devices(db, "press")
    small = Settings(replay_window=64)
    first = message(device, 0, rows_of(0), boot=5)
    assert count(db, first, [device], small) == [True]
    assert count(db, message(device, 0, rows_of(1), boot=5), [device], small) == [Reason.CONFLICT]
    assert count(db, message(device, 200, rows_of(2), boot=5), [device], small) == [True]
    assert count(db, first, [device], small) == [Reason.TOO_OLD]
    for boot in range(6, 14):
        assert count(db, message(device, 0, rows_of(boot), boot=boot), [device], small) == [True]
    assert count(db, message(device, 300, rows_of(3), boot=5), [device], small) == [Reason.OLD_BOOT]
    assert whole(db).count == 10 * 100
    assert list(upkeep.check(db)) == []


def test_a_clock_is_believed_within_reason(db):
    (device,) = add_devices(db, "press")
    times = [NOON - 3 * HOUR, NOON + DAY, NOON - 30 * DAY, 0]
    for sequence, time in enumerate(times):
        assert count(db, message(device, sequence, rows_of(sequence), time=time), [device]) == [True]
    with db.reading():
        cells = sums.cells_of(db, Asked())
    assert {cell.start: rows for cell, rows in cells.items()} == {NOON - 3 * HOUR: 100, NOON: 300}
    assert db.one("SELECT wrong_clock FROM devices") == (2,)


def test_a_message_of_no_rows_is_a_sign_of_life(db):
    (device,) = add_devices(db, "press")
    assert count(db, message(device, 0, rows_of(0)[:0]), [device]) == [True]
    assert db.one("SELECT last_seen, messages FROM devices") == (NOON, 1)
    assert whole(db).count == 0


def test_memory_stays_bounded(db):
    (device,) = add_devices(db, "press")
    small = Settings(replay_window=128)
    for start in range(0, 2000, 100):
        data = b"".join(message(device, start + i, rows_of(i, 1)) for i in range(100))
        assert count(db, data, [device], small) == [True] * 100
    assert db.one("SELECT count(*) FROM seen")[0] <= 3
