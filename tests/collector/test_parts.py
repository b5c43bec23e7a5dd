"""Whole sketches: counted once, replaced and withdrawn exactly."""

import pytest

from collector.fleet import NOON, OPERATOR, add_devices, arrivals, call, message, new_store, rows_of, running, whole
from qckm.collector import parts, senders, sums, upkeep
from qckm.collector.counting import count_messages, withdraw
from qckm.collector.parts import Part
from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import DAY, HOUR, Settings
from qckm.collector.windows import Asked, cell_of_part
from qckm.sketch import files


def sketch_of(seed):
    return OPERATOR.sketch(rows_of(seed))


def put(db, name, sketch, replace=False, now=NOON, at=None):
    part = Part.of(name, cell_of_part(name, at, now, Settings()), sketch, "shop", replace)
    with db.writing():
        return parts.put(db, part, now)


def test_a_part_counts_once_and_the_sum_is_that_of_all_rows(db):
    shops = {f"shop-{i}/2026-11-{day:02}": sketch_of(100 * i + day) for i in range(4) for day in (14, 15)}
    for name, sketch in shops.items():
        assert put(db, name, sketch) == "accepted"
        assert put(db, name, sketch) == "repeated"
    assert files.dumps(whole(db)) == files.dumps(sum(shops.values()))
    assert whole(db, group="shop-1") == shops["shop-1/2026-11-14"] + shops["shop-1/2026-11-15"]
    assert list(upkeep.check(db)) == []


def test_other_content_under_a_name_is_refused_unless_it_replaces(db):
    put(db, "berlin/2026-11-15", sketch_of(0))
    put(db, "berlin/a", sketch_of(1))
    with pytest.raises(Refused, match="replace") as refused:
        put(db, "berlin/2026-11-15", sketch_of(2))
    assert refused.value.reason is Reason.PART_EXISTS
    assert whole(db) == sketch_of(0) + sketch_of(1)
    assert put(db, "berlin/2026-11-15", sketch_of(2), replace=True) == "replaced"
    assert files.dumps(whole(db)) == files.dumps(sketch_of(2) + sketch_of(1))
    assert list(upkeep.check(db)) == []


def test_a_withdrawn_part_leaves_nothing_and_stays_withdrawn(db):
    put(db, "berlin/a", sketch_of(0))
    put(db, "berlin/b", sketch_of(1))
    with db.writing():
        assert parts.withdraw(db, "berlin/b", OPERATOR, "shop", NOON) == 100
    assert files.dumps(whole(db)) == files.dumps(sketch_of(0))
    with pytest.raises(Refused, match="withdrawn"):
        put(db, "berlin/b", sketch_of(1))
    assert put(db, "berlin/b", sketch_of(1), replace=True) == "replaced"
    assert whole(db) == sketch_of(0) + sketch_of(1)
    with db.writing(), pytest.raises(Refused, match="no such part"):
        parts.withdraw(db, "berlin/c", OPERATOR, "shop", NOON)
    assert list(upkeep.check(db)) == []


def test_a_sum_of_parts_that_were_counted_is_not_counted_again(db):
    monday, tuesday = sketch_of(0).as_part("berlin/monday"), sketch_of(1).as_part("berlin/tuesday")
    put(db, "berlin/monday", monday)
    with pytest.raises(Refused, match="counted with berlin/monday"):
        put(db, "berlin/week", monday + tuesday)
    assert put(db, "berlin/tuesday", tuesday) == "accepted"
    with db.writing():
        for name in ("berlin/monday", "berlin/tuesday"):
            parts.withdraw(db, name, OPERATOR, "shop", NOON)
    assert put(db, "berlin/week", monday + tuesday) == "accepted"
    assert whole(db) == sketch_of(0) + sketch_of(1)
    assert list(upkeep.check(db)) == []


def test_where_a_part_belongs_follows_from_its_name_or_from_what_is_said():
    def cell(name, at=None):
        found = cell_of_part(name, at, NOON, Settings())
        return found.group, NOON - found.start, found.span

    assert cell("berlin/2026-11-15") == ("berlin", 36 * HOUR, DAY)
    assert cell("berlin/2026-11-16T05") == ("berlin", 7 * HOUR, HOUR)
    assert cell("berlin/batch-7") == ("berlin", 0, HOUR)
    assert cell("berlin/batch-7", NOON - 2 * HOUR) == ("berlin", 2 * HOUR, HOUR)
    assert cell("berlin/2026-01-05T05")[2] == DAY  # hours of that time have become days
    with pytest.raises(Refused, match="today or before"):
        cell("berlin/2026-12-24")


def test_hours_become_days_and_sums_stay(db):
    settings = Settings()
    for hour in range(24):
        put(db, f"berlin/2026-11-15T{hour:02}", sketch_of(hour))
    before = files.dumps(whole(db))
    later = NOON + 20 * DAY
    assert upkeep.roll_up(db, OPERATOR, settings, later) == 1
    assert upkeep.roll_up(db, OPERATOR, settings, later) == 0
    assert db.one("SELECT count(*) FROM part_sums") == (1,)
    assert files.dumps(whole(db)) == before
    assert put(db, "berlin/2026-11-15T07", sketch_of(7), now=later) == "repeated"
    with db.writing():
        parts.withdraw(db, "berlin/2026-11-15T07", OPERATOR, "shop", later)
    assert whole(db) == sum(sketch_of(hour) for hour in range(24) if hour != 7)
    assert list(upkeep.check(db)) == []


def test_parts_of_closed_windows_count_but_cannot_be_taken_out(db):
    put(db, "berlin/2026-11-15", sketch_of(0))
    later = NOON + 100 * DAY
    assert upkeep.close_parts(db, Settings(), later) == 1
    assert put(db, "berlin/2026-11-15", sketch_of(0), now=later) == "repeated"
    assert put(db, "berlin/late", sketch_of(1), now=later, at=NOON - DAY - 12 * HOUR) == "accepted"
    for name in ("berlin/2026-11-15",):
        with db.writing(), pytest.raises(Refused, match="not kept any more"):
            parts.withdraw(db, name, OPERATOR, "shop", later)
    assert whole(db) == sketch_of(0) + sketch_of(1)
    assert list(upkeep.check(db)) == []


def test_windows_of_very_long_ago_are_forgotten_where_that_is_wanted_and_names_are_not(db):
    put(db, "berlin/2026-11-15", sketch_of(0))
    later = NOON + 400 * DAY
    settings = Settings(keep_days=365)
    assert upkeep.forget_windows(db, Settings(), later) == 0
    upkeep.close_parts(db, settings, later)
    assert upkeep.forget_windows(db, settings, later) == 1
    assert whole(db).count == 0
    assert put(db, "berlin/2026-11-15", sketch_of(0), now=later) == "repeated"
    assert list(upkeep.check(db)) == []


def test_what_would_be_forgotten_at_once_is_not_acknowledged(tmp_path):
    with new_store(tmp_path) as db:
        token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    data, old = files.dumps(sketch_of(0)), "2020-01-01"
    with running(tmp_path, Settings()) as url:
        assert call("PUT", f"{url}/v1/parts/berlin/{old}", token, data)[0] == 201
    with running(tmp_path, Settings(keep_days=365)) as url:
        assert call("PUT", f"{url}/v1/parts/berlin/{old}", token, data)[0] == 200  # it was counted once, and is known
        status, told = call("PUT", f"{url}/v1/parts/paris/{old}", token, data)
        assert (status, told["reason"]) == (410, "window closed")
        assert "--keep-days" in told["error"]
        assert call("PUT", f"{url}/v1/parts/paris/a", token, data)[0] == 201  # nothing of the first try is left


def test_periodic_work_is_done_by_one_of_those_who_ask(db, tmp_path):
    other = new_store(tmp_path)
    assert [upkeep.is_due(each, "upkeep", NOON, HOUR) for each in (db, other, db)] == [True, False, False]
    assert upkeep.is_due(other, "upkeep", NOON + HOUR, HOUR)
    other.close()


def test_a_clock_that_was_wrong_for_a_while_stops_no_periodic_work(db):
    assert upkeep.is_due(db, "upkeep", NOON + 400 * DAY, HOUR)
    assert [upkeep.is_due(db, "upkeep", NOON + after, HOUR) for after in (0, 60, HOUR)] == [True, False, True]


def test_a_clock_that_leaps_ages_nothing_until_it_has_gone_on_for_a_day(db):
    def steady(*hours):
        return [upkeep.is_steady(db, NOON + hour * HOUR) for hour in hours]

    assert steady(0, 1, 23, 24, 25) == [False, False, False, True, True]
    year = 400 * 24
    assert steady(year, year + 1, 26, 27, 49, 50) == [False, False, False, False, False, True]
    assert steady(50 + 25, 50 + 26, 50 + 50) == [False, False, True]  # nobody was there for a day


def test_a_device_whose_group_has_groups_below_it_is_taken_out_alone(tmp_path):
    settings = Settings(group_depth=2)
    with new_store(tmp_path / "deep", settings) as db:
        devices = add_devices(db, "berlin", "berlin/hall", "berlin/hall-2")
        sent = b"".join(message(device, 0, rows_of(device.number)) for device in devices)
        with db.writing():
            count_messages(db, arrivals(sent, devices, settings), settings, NOON)
            assert withdraw(db, Asked(), devices[0].number, "admin", NOON).rows == 100
            assert sums.sketch_of(db, OPERATOR, Asked()).count == 200
            assert withdraw(db, Asked(group="berlin"), None, "admin", NOON).rows == 200
            with pytest.raises(Refused, match="name of a group"):
                withdraw(db, Asked(), None, "admin", NOON)


def test_a_span_that_cuts_a_window_is_refused(db):
    put(db, "berlin/2026-11-15", sketch_of(0))
    with pytest.raises(Refused, match="2026-11-15 to 2026-11-16"):
        whole(db, begin=NOON - 30 * HOUR)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE part_sums SET rows = 7", "have 200 rows, their sum 7"),
        ("DELETE FROM parts WHERE name = 'berlin/b'", "differs|have 100 rows"),
        ("UPDATE device_sums SET rows = 3", "contradict|sent"),
        ("UPDATE boots SET messages = 9", "one twice"),
    ],
)
def test_a_store_that_contradicts_itself_is_told(db, sql, words):
    put(db, "berlin/a", sketch_of(0))
    put(db, "berlin/b", sketch_of(1))
    devices = add_devices(db, "press")
    with db.writing():
        count_messages(db, arrivals(message(devices[0], 0, rows_of(2)), devices), Settings(), NOON)
    with db.writing():
        db.execute(sql)
    with pytest.raises(AssertionError, match=words):
        assert list(upkeep.check(db)) == []
