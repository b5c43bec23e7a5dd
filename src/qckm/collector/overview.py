"""The page, and what it shows, as one JSON object: who sends, what came when, what it is made of, what has changed."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from operator import itemgetter
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

import qckm
from qckm.collector import sums, watching
from qckm.collector.database import Database
from qckm.collector.refusals import Unavailable
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.settings import DAY, HOUR, Settings
from qckm.collector.windows import Asked, Cell, days_ago, group_of
from qckm.sketch import SketchOperator

HOURS, DAYS = 48, 30  # of rows over time
WINDOWS = 30  # of drift
_MOST_GROUPS, _MOST_DEVICES, _MOST_REFUSALS, _MOST_PARTS, _MOST_COLORS = 200, 20, 50, 8, 7
_OF_PART, _OF_REFUSAL = ("name", "state", "rows", "sender", "received"), ("sender", "reason", "times", "last", "words")


def overview(db: Database, operator: SketchOperator, settings: Settings) -> dict[str, Any]:
    """Return all that the page shows, of one state of the store."""
    now = int(time.time())
    cells, drifts = sums.cells_of(db, Asked(days_ago(DAYS, now))), _drifts(db, settings, now)
    groups = _groups(db, settings, now)
    return {
        "now": now,
        "version": qckm.__version__,
        "operator": {
            "columns": operator.feature_names or [f"x{i}" for i in range(operator.n_features)],
            "measurements": operator.n_measurements,
            "fingerprint": operator.fingerprint,
        },
        "rows": sum(int(db.value(f"SELECT coalesce(sum(rows), 0) FROM {table}")) for table in sums.OF_ROWS),
        "hours": _rows_over_time(cells, now - now % HOUR - (HOURS - 1) * HOUR, HOUR),
        "days": _rows_over_time(cells, days_ago(DAYS - 1, now), DAY),
        "totals": {
            "groups": len(groups),
            **{name: sum(g[name] for g in groups) for name in ("devices", "active", "missing")},
        },
        # Not all of very many: those with troubles, then those not heard of for longest.
        "groups": sorted(groups, key=lambda g: (not g["missing"] + g["refused"], g["last_seen"] or 0))[:_MOST_GROUPS],
        "quiet": _quiet_devices(db, now),
        "parts": db.dicts("parts", _OF_PART, "ORDER BY received DESC, name LIMIT ?", (_MOST_PARTS,)),
        "refused": int(db.value("SELECT coalesce(sum(times), 0) FROM refusals")),
        "refusals": db.dicts("refusals", _OF_REFUSAL, "ORDER BY last DESC, sender LIMIT ?", (_MOST_REFUSALS,)),
        "drifts": [_told(drift) for drift in drifts],
        "clusters": _clusters(db, drifts),
    }


def _rows_over_time(cells: dict[Cell, int], begin: int, span: int) -> list[dict[str, Any]]:
    """Return the rows of each window by group, the smaller ones together; windows longer than that are left out."""
    shown = {cell: rows for cell, rows in cells.items() if cell.start >= begin and cell.span <= span}
    sizes: Counter[str] = Counter()
    for cell, rows in shown.items():
        sizes[cell.group] += rows
    others = f"{len(sizes) - _MOST_COLORS} others"
    own = {name for name, _ in sizes.most_common(_MOST_COLORS if len(sizes) > _MOST_COLORS + 1 else None)}
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for cell, rows in shown.items():
        found[cell.start - cell.start % span][cell.group if cell.group in own else others] += rows
    return [{"start": start, "rows": dict(groups)} for start, groups in sorted(found.items())]


def _groups(db: Database, settings: Settings, now: int) -> list[dict[str, Any]]:
    """Return what is known of each group: its devices, those seen within an hour, its parts, its rows."""
    counts = ("devices", "active", "missing", "repeated", "refused", "parts", "rows")
    empty: dict[str, Any] = {**dict.fromkeys(counts, 0), "last_seen": None}
    found: defaultdict[str, dict[str, Any]] = defaultdict(lambda: dict(empty))
    missing: dict[int, int] = dict(db.rows("SELECT device, sum(top + 1 - messages) FROM boots GROUP BY device"))
    senders = "SELECT number, name, last_seen, repeated FROM devices WHERE revoked IS NULL"
    for number, name, last_seen, repeated in db.rows(senders):
        group = found[group_of(name, settings.group_depth)]
        group["devices"] += 1
        group["active"] += last_seen is not None and last_seen > now - HOUR
        group["missing"] += int(missing.get(number, 0))
        group["repeated"] += repeated
        group["last_seen"] = max(group["last_seen"] or 0, last_seen or 0) or None
    there = "SELECT grp, count(*), max(received) FROM parts WHERE state <> 'withdrawn' GROUP BY grp"
    for name, count, received in db.rows(there):
        found[name]["parts"] += count
        found[name]["last_seen"] = max(found[name]["last_seen"] or 0, received)
    for table in sums.OF_ROWS:
        for name, rows in db.rows(f"SELECT grp, sum(rows) FROM {table} GROUP BY grp"):
            found[name]["rows"] += int(rows)
    for sender, times in db.rows("SELECT sender, sum(times) FROM refusals GROUP BY sender"):
        group_name = group_of(sender, settings.group_depth)
        if group_name in found:  # others are relays and strangers
            found[group_name]["refused"] += int(times)
    return [{"name": name, **facts} for name, facts in found.items()]


def _quiet_devices(db: Database, now: int) -> list[dict[str, Any]]:
    """Return the devices that have not been heard of for longest, if that is more than an hour."""
    columns = ("number", "name", "last_seen", "messages", "wrong_clock")
    rest = "WHERE revoked IS NULL AND coalesce(last_seen, 0) < ? ORDER BY coalesce(last_seen, 0), number LIMIT ?"
    return db.dicts("devices", columns, rest, (now - HOUR, _MOST_DEVICES))


def _drifts(db: Database, settings: Settings, now: int) -> list[dict[str, Any]]:
    """Return what comparing the last windows has found, the oldest first."""
    span = HOUR if settings.drift_every == "hour" else DAY
    columns = ("grp", "start", "span", "drifted", "result")
    rest = "WHERE span = ? AND start >= ? ORDER BY start, grp"
    found = db.dicts("drifts", columns, rest, (span, now - (WINDOWS + 1) * span))
    latest = {drift["grp"]: -drift["start"] * drift["drifted"] for drift in sorted(found, key=itemgetter("drifted"))}
    shown = {watching.ALL, *sorted(latest, key=lambda group: (latest[group], group))[:_MOST_GROUPS]}
    return [{**drift, "result": json.loads(drift["result"])} for drift in found if drift["grp"] in shown]


def _told(drift: dict[str, Any]) -> dict[str, Any]:
    result = drift["result"]
    sizes = {name: result[name] for name in ("pvalue", "effect") if name in result}
    words = watching.words_of(result) if drift["drifted"] else []
    told = {"group": drift["grp"], "start": drift["start"], "span": drift["span"], "drifted": bool(drift["drifted"])}
    return {**told, "words": words, **sizes}


def _same_clusters(model: dict[str, Any], centers: list[list[float]]) -> list[int] | None:
    """Return which of some centres each cluster of a model is: the nearest, if no two are near the same one."""
    ours, others = (np.array(points) / model["units"] for points in (model["centers"], centers))
    if ours.shape != others.shape:
        return None
    nearest = [int(((others - center) ** 2).sum(axis=1).argmin()) for center in ours]
    return nearest if len(set(nearest)) == len(nearest) else None


def _clusters(db: Database, drifts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the centroids that are watched, and their weights in each of the last windows."""
    known = db.one("SELECT created, model FROM models WHERE key = 'watch'")
    if known is None:
        return None
    model = json.loads(bytes(known[1]))
    weights = []
    for drift in drifts:
        found = drift["result"].get("explanation") if drift["grp"] == watching.ALL else None
        order = _same_clusters(model, found["centers"]) if found else None
        if found and order:
            shares = [max(0.0, found["weights"][i] + (found["weight_changes"][i] or 0.0)) for i in order]
            weights.append({"start": drift["start"], "span": drift["span"], "weights": shares})
    told = {name: model[name] for name in ("centers", "weights", "units")}
    told |= {name: model["facts"].get(name) for name in ("converged", "excess", "excess_high")}
    return {"created": known[0], **told, "over_time": weights}


_SECONDS = 2.0


class Latest:
    """The newest overview, made at most every other second, however many look at it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._made = 0.0
        self._found: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def get(self) -> dict[str, Any]:
        """Return it."""
        async with self._lock:
            if time.monotonic() - self._made >= _SECONDS:
                service = self.service
                self._found = await service.read(lambda db: overview(db, service.operator, service.settings))
                self._made = time.monotonic()
        return self._found


async def get_overview(request: Request, service: Service, token: Token) -> Response:
    """Return what the page shows."""
    return JSONResponse(await request.app.state.latest.get())


async def get_events(request: Request, service: Service, token: Token) -> Response:
    """Return what the page shows, again and again, as long as somebody looks and may."""

    async def events() -> AsyncIterator[str]:
        while token.id in service.directory.tokens and not request.app.state.server.should_exit:
            try:
                yield f"data: {json.dumps(await request.app.state.latest.get())}\n\n"
            except Unavailable:
                yield ": the store is not available\n\n"
            await asyncio.sleep(_SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream")
