"""Windows that have ended are compared with those before, once, and news of drift reaches whoever wants it."""

import asyncio
import json
import time

import pytest

from collector.fleet import OPERATOR, new_store, rows_of
from qckm.collector import parts, senders
from qckm.collector.overview import overview
from qckm.collector.parts import Part
from qckm.collector.service import Service
from qckm.collector.settings import DAY, HOUR, Settings
from qckm.collector.watching import watch
from qckm.collector.windows import Cell, cell_of_part
from servers import Quiet, web


@pytest.fixture
def hook():
    """A server that keeps what is posted to it, and fails at first."""
    heard = []

    class Handler(Quiet):
        def do_POST(self):
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(heard) == 1 else 204)
            self.end_headers()

    with web(Handler) as url:
        yield f"{url}/news", heard


def fill(store, settings, days):
    """Put a shop's days into a store: days of three clusters, the last two of them moved."""
    db, now = new_store(store, settings), int(time.time())
    for back in range(days, 0, -1):
        name = time.strftime("berlin/%Y-%m-%d", time.gmtime(now - back * DAY))
        sketch = OPERATOR.sketch(rows_of(back, 3000) + (2.0 if back <= 2 else 0.0))
        with db.writing():
            parts.put(db, Part.of(name, cell_of_part(name, None, now, settings), sketch, "shop"), now)
    return db


@pytest.mark.parametrize("clusters", [0, 3])
def test_a_day_that_differs_from_those_before_is_news_once(tmp_path, hook, clusters, monkeypatch):
    url, heard = hook
    settings = Settings(clusters=clusters, webhook=url)
    db = fill(tmp_path, settings, 5)

    async def watch_twice():
        service = Service.open(str(tmp_path), settings)
        await service.start()
        await watch(service)
        await watch(service)  # not due yet
        with db.writing():
            db.execute("UPDATE jobs SET due = 0")
        await watch(service)  # nothing is left to compare
        await service.stop()

    # Where the day has just begun, yesterday has not ended for long enough.
    monkeypatch.setattr("qckm.collector.watching._GRACE", 0)
    asyncio.run(watch_twice())
    told = {(drift["group"], drift["start"]): drift for drift in overview(db, OPERATOR, settings)["drifts"]}
    db.close()
    today = int(time.time()) // DAY * DAY
    for group in ("", "berlin"):
        drifted = [told[group, today - back * DAY]["drifted"] for back in range(5, 0, -1)]
        assert drifted == [False, False, False, True, False]
        assert told[group, today - 5 * DAY]["pvalue"] is None  # there was nothing before it
    news = {each["group"]: each for each in heard}
    assert set(news) == {"", "berlin"}
    assert len(heard) == 3  # two, and one that failed at first
    assert news["berlin"]["event"] == "drift"
    if clusters:
        assert any("cluster" in words or "rows are new" in words for words in news[""]["words"])


def test_the_page_of_very_many_groups_shows_some_and_counts_all(tmp_path):
    now = int(time.time())
    with new_store(tmp_path) as db:
        senders.create_devices(db, [f"hall-{i}/press" for i in range(300)], None, None, now)
        for number in range(12):
            cell, sketch = Cell(f"hall-{number}", now - now % HOUR, HOUR), OPERATOR.sketch(rows_of(number, 10 + number))
            with db.writing():
                parts.put(db, Part.of(f"hall-{number}/part", cell, sketch, "shop"), now)
        told = overview(db, OPERATOR, Settings())
    assert (told["totals"]["groups"], told["totals"]["devices"], len(told["groups"])) == (300, 300, 200)
    assert "hall-0" not in {group["name"] for group in told["groups"]}  # heard of last
    (hour,) = told["hours"]
    assert set(hour["rows"]) == {*(f"hall-{number}" for number in range(5, 12)), "5 others"}
    assert hour["rows"]["5 others"] == 10 + 11 + 12 + 13 + 14
