"""Each window that has ended is compared with those before it, once, by whichever collector comes first.

The reference are the windows before, up to seven, but none before the last drift: what has changed is the new normal.
All groups together are compared by clusters, too, whose centroids stay until one has moved far or a new one has come.
The level is shared: of all groups of a window, one or more give a false alarm as rarely as the level says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import warnings
from collections import Counter
from functools import partial
from typing import Any

from qckm.collector import client, sums, upkeep
from qckm.collector.database import Database
from qckm.collector.service import Service
from qckm.collector.settings import DAY, HOUR
from qckm.collector.windows import Asked, Cell, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator

log = logging.getLogger("qckm.collector")
ALL = ""  # the group of all groups
# A window is compared some time after its end: messages may be late.
_GRACE = 600
_WINDOWS_BEFORE = 7
_LEAST_ROWS = 500
# From here on, clusters are found anew: one has moved by half its deviation, or a new one has a hundredth of the rows.
_ELSEWHERE = {"move": 0.5, "new": 0.01}
# How far back windows are compared, and how many in a round.
_BACK, _AT_ONCE = 30, 500


async def watch(service: Service) -> None:
    """Compare what has ended since the last round; tell whoever wants to know of drift."""
    now = int(time.time())
    if not await asyncio.to_thread(_is_ours, service, now):
        return
    cells = await service.read(lambda db: _ended(db, service, now))
    groups = Counter(cell.start for cell in cells if cell.group != ALL)
    for cell in cells:
        pair = await service.read(partial(_before_and_after, operator=service.operator, cell=cell))
        level = service.settings.drift_level / (1 if cell.group == ALL else groups[cell.start])
        result = await _compare(service, cell, *pair, level)
        await service.committer.do(partial(_keep, cell=cell, result=result, now=now))
        if result["drifted"]:
            log.info("drift", extra={"group": cell.group, "window": show_time(cell.start), "pvalue": result["pvalue"]})
            await asyncio.to_thread(_tell, service, cell, result)


def _is_ours(service: Service, now: int) -> bool:
    with Database(service.address) as db:
        return upkeep.is_due(db, "watch", now, 60)


def _ended(db: Database, service: Service, now: int) -> list[Cell]:
    """Return the windows that have ended and were not compared yet, the oldest first."""
    span = HOUR if service.settings.drift_every == "hour" else DAY
    last = now - _GRACE
    first = last - last % span - _BACK * span
    known = {
        Cell(*row)
        for row in db.rows("SELECT grp, start, span FROM drifts WHERE span = ? AND start >= ?", (span, first))
    }
    found: set[Cell] = set()
    for cell in sums.cells_of(db, Asked(first, last - last % span)):
        if cell.span <= span:
            start = cell.start - cell.start % span
            found |= {Cell(cell.group, start, span), Cell(ALL, start, span)}
    return sorted(found - known, key=lambda cell: (cell.start, cell.group))[:_AT_ONCE]


def _before_and_after(db: Database, operator: SketchOperator, cell: Cell) -> tuple[Sketch, Sketch]:
    found = db.one("SELECT max(start) FROM drifts WHERE grp = ? AND span = ? AND drifted = 1 AND start < ?", _key(cell))
    since = max(cell.start - _WINDOWS_BEFORE * cell.span, found[0] if found and found[0] is not None else 0)
    before = sums.sketch_of(db, operator, Asked(since, cell.start, cell.group))
    return before, sums.sketch_of(db, operator, Asked(cell.start, cell.end, cell.group))


def _key(cell: Cell) -> tuple[str, int, int]:
    return cell.group, cell.span, cell.start


async def _compare(service: Service, cell: Cell, before: Sketch, after: Sketch, level: float) -> dict[str, Any]:
    rows = [before.count, after.count]
    nothing: dict[str, Any] = {"drifted": False, "pvalue": None, "rows": rows}
    if min(rows) < _LEAST_ROWS:
        return {**nothing, "notes": ["too few rows to compare"]}
    effect = service.settings.drift_effect
    try:
        if cell.group == ALL and service.settings.clusters:
            return await service.decoder.drift(before, after, level, effect, await _model(service, cell, before))
        return await asyncio.to_thread(_compare_here, before, after, level, effect)
    except QckmError as error:
        return {**nothing, "notes": [str(error)]}


def _compare_here(before: Sketch, after: Sketch, level: float, effect: float) -> dict[str, Any]:
    from qckm.drift.compare import compare  # decoders take their time to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a note says it, too
        return compare(before, after, level=level, min_effect=effect).to_dict()


async def _model(service: Service, cell: Cell, before: Sketch) -> bytes:
    """Return the clusters that changes are told by: those of the last comparison, unless it found that they moved."""
    sql = "SELECT result FROM drifts WHERE grp = ? AND span = ? AND start < ? ORDER BY start DESC"
    last = await service.read(lambda db: db.one(sql, _key(cell)))
    known = await service.read(lambda db: db.one("SELECT model FROM models WHERE key = 'watch'"))
    explanation = json.loads(last[0]).get("explanation") if last else None
    causes = explanation["causes"] if explanation else []
    if known is not None and not any(
        cause["size"] >= _ELSEWHERE[cause["kind"]] for cause in causes if cause["kind"] in _ELSEWHERE
    ):
        return bytes(known[0])
    model = await service.decoder.model(before, service.settings.clusters)
    now = int(time.time())
    put = (
        "INSERT INTO models (key, created, model) VALUES ('watch', ?, ?) ON CONFLICT (key) "
        "DO UPDATE SET created = excluded.created, model = excluded.model"
    )
    await service.committer.do(lambda db: db.execute(put, (now, model)))
    return model


def _keep(db: Database, cell: Cell, result: dict[str, Any], now: int) -> None:
    db.execute(
        "INSERT INTO drifts (grp, start, span, created, drifted, result) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (grp, start, span) DO NOTHING",
        (*cell, now, int(bool(result["drifted"])), json.dumps(result)),
    )


def words_of(result: dict[str, Any]) -> list[str]:
    """Return what was found, as sentences."""
    causes = (result.get("explanation") or {}).get("causes", [])
    return [cause["words"] for cause in causes] + list(result.get("notes", []))


def _tell(service: Service, cell: Cell, result: dict[str, Any]) -> None:
    """Post the news, and publish it; whoever does not listen misses it, and finds it on the page."""
    news = {
        "event": "drift",
        "group": cell.group,
        "from": show_time(cell.start),
        "to": show_time(cell.end),
        "pvalue": result["pvalue"],
        "effect": result["effect"],
        "words": words_of(result),
    }
    data = json.dumps(news).encode()
    if service.publish is not None:
        service.publish(f"drift/{cell.group or 'all'}", data)
    if service.settings.webhook:
        try:
            client.post(service.settings.webhook, data)
        except QckmError as error:
            log.warning("the webhook does not answer", extra={"error": str(error)})
