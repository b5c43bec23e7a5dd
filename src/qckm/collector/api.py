"""What comes in and goes out by HTTP: a function for each kind of request. "Accepted" is on the disk."""

from __future__ import annotations

import hashlib
import io
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qckm.collector import message_sums, parts, sums
from qckm.collector.database import Database
from qckm.collector.parts import Part
from qckm.collector.refusals import Reason, Refused
from qckm.collector.requests import asked_of, body_of, flag, json_of, whole
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.windows import Asked, cell_of_part, forgotten_before, parse_time, require_name, show_time
from qckm.sketch import Sketch, SketchOperator, files

SKETCH = "application/vnd.qckm"
_TIME = pa.timestamp("ms", tz="UTC")  # Parquet has no seconds
_SCHEMA = pa.schema(
    [("group", pa.string()), ("start", _TIME), ("end", _TIME), ("rows", pa.int64()), ("sketch", pa.binary())]
)
# Windows with their sketches in one answer, which is made in memory.
_MOST_WINDOWS = 20_000
_MOST_CLUSTERS = 1000


async def put_part(request: Request, service: Service, token: Token) -> Response:
    """Count a sketch, once."""
    name, at, now = require_name(request.path_params["part"]), request.query_params.get("at"), int(time.time())
    token.require_part(name)
    cell = cell_of_part(name, None if at is None else parse_time(at), now, service.settings)
    body = await body_of(request, service.settings.most_part)
    service.limits.take(token.id, 1 + len(body) / 1000)
    sketch = parts.read_sketch(body, service.operator, name, any_name="*" in token.parts)
    part = Part.of(name, cell, sketch, token.name, flag(request, "replace"))
    oldest = forgotten_before(now, service.settings)
    outcome = await service.committer.do(lambda db: parts.put(db, part, now, oldest), name)
    service.metrics.parts.labels(outcome).inc()
    if outcome != "repeated":
        service.metrics.rows.inc(int(sketch.count))
    told = {"part": name, "outcome": outcome, "rows": sketch.count, "group": cell.group}
    return JSONResponse({**told, "window": show_time(cell.start)}, 201 if outcome == "accepted" else 200)


async def delete_part(request: Request, service: Service, token: Token) -> Response:
    """Take a part out again."""
    name, now = require_name(request.path_params["part"]), int(time.time())
    if "admin" not in token.rights:
        token.require_part(name)
    rows = await service.committer.do(lambda db: parts.withdraw(db, name, service.operator, token.name, now), name)
    return JSONResponse({"part": name, "outcome": "withdrawn", "rows": rows})


async def list_parts(request: Request, service: Service, token: Token) -> Response:
    """List the parts of a span and a group, the newest first."""
    (where, values), most = asked_of(request).where, min(whole(request, "limit", 100), 10_000)
    columns = ("name", "grp", "start", "span", "state", "rows", "sender", "received")
    rest = f"WHERE {where} ORDER BY received DESC, name LIMIT ?"
    found = await service.read(lambda db: db.dicts("parts", columns, rest, [*values, most]))
    return JSONResponse([part | {"window": show_time(part["start"])} for part in found])


async def post_messages(request: Request, service: Service, token: Token) -> Response:
    """Count messages that follow one another, each once; say which were refused."""
    data = await body_of(request, service.settings.most_body)
    service.limits.take(token.id, 0)
    checked = await service.check_messages([data], token.name)
    service.limits.take(token.id, len(checked))
    results = await service.count(checked)
    refused = [
        {"at": at, "reason": result.reason, "error": str(result)}
        for at, result in enumerate(results)
        if isinstance(result, Refused)
    ]
    return JSONResponse(
        {"accepted": results.count(True), "repeated": results.count(False), "refused": refused, "total": len(results)}
    )


async def post_withdrawal(request: Request, service: Service, token: Token) -> Response:
    """Take out what a device, or all devices of a group, sent within a span."""
    asked, now = await json_of(request), int(time.time())
    span, device = Asked.parse(asked.get("from"), asked.get("to"), asked.get("group")), asked.get("device")
    if ("device" in asked) == ("group" in asked) or not isinstance(device, int | None) or isinstance(device, bool):
        raise Refused(Reason.BAD_REQUEST, 'Expected {"device": 17} or {"group": "berlin"}, with "from" and "to".')
    done = await service.committer.do(lambda db: message_sums.withdraw(db, span, device, token.name, now))
    return JSONResponse({"rows": done.rows, "windows": done.windows, "left_as_they_are": done.untouched})


async def post_release(request: Request, service: Service, token: Token) -> Response:
    """Return a private sketch of a span and a group, out of the budget."""
    asked, now = await json_of(request), int(time.time())
    span = Asked.parse(*(asked.pop(name, None) for name in ("from", "to", "group")))
    data = await service.committer.do(
        lambda db: sums.release_span(db, service.operator, service.settings, span, asked, now)
    )
    return Response(data, media_type=SKETCH)


async def get_operator(request: Request, service: Service, token: Token) -> Response:
    """Return the operator, as a sketch of no rows."""
    return Response(files.dumps(service.operator.empty()), media_type=SKETCH)


async def get_sketch(request: Request, service: Service, token: Token) -> Response:
    """Return the sketch of a span and a group."""
    return Response(files.dumps(await _sketch(request, service, asked_of(request))), media_type=SKETCH)


async def _sketch(request: Request, service: Service, asked: Asked) -> Sketch:
    ask = sums.private_sketch_of if flag(request, "private") else sums.sketch_of
    return await service.read(lambda db: ask(db, service.operator, asked))


async def get_windows(request: Request, service: Service, token: Token) -> Response:
    """Return the windows of a span and a group, with their sketches as Parquet or Arrow, without them as JSON."""
    asked, form = asked_of(request), request.query_params.get("format", "json")
    if form == "json":
        cells = await service.read(lambda db: sums.cells_of(db, asked))
        told = [
            {"group": cell.group, "start": show_time(cell.start), "seconds": cell.span, "rows": rows}
            for cell, rows in cells.items()
        ]
        return JSONResponse(told)
    if form not in ("parquet", "arrow"):
        raise Refused(Reason.BAD_REQUEST, f"Expected format json, parquet or arrow, got {form!r:.40}.")
    data = await service.read(lambda db: _table(db, service.operator, asked, form))
    return Response(data, media_type="application/octet-stream")


def _table(db: Database, operator: SketchOperator, asked: Asked, form: str) -> bytes:
    """Return windows as a Parquet file or an Arrow stream; the column `sketch` holds the bytes of .qckm files."""
    cells = sums.cells_of(db, asked)
    if len(cells) > _MOST_WINDOWS:
        raise Refused(
            Reason.BAD_REQUEST, f"Expected at most {_MOST_WINDOWS} windows, got {len(cells)}: ask for a shorter span."
        )
    rows = [
        (cell.group, 1000 * cell.start, 1000 * cell.end, count, files.dumps(sums.sketch_of_cell(db, operator, cell)))
        for cell, count in cells.items()
    ]
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA)
    buffer = io.BytesIO()
    if form == "parquet":
        pq.write_table(table, buffer)
    else:
        with pa.ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()


async def get_model(request: Request, service: Service, token: Token) -> Response:
    """Return the centroids of a span and a group; the same sums are decoded once."""
    clusters = _clusters(request, service.settings.clusters, 1)
    sketch = await _sketch(request, service, asked_of(request))
    return Response(await _model(service, sketch, clusters), media_type="application/json")


async def get_drift(request: Request, service: Service, token: Token) -> Response:
    """Compare a span with another one, the reference, of the same group."""
    asked, other = asked_of(request), asked_of(request, "reference_from", "reference_to")
    clusters = _clusters(request, 0, 0)
    if max(asked.begin, other.begin) < min(asked.end, other.end):
        raise Refused(
            Reason.BAD_REQUEST,
            "Expected two spans that do not overlap: from, to, reference_from and reference_to.",
        )
    after, before = await _sketch(request, service, asked), await _sketch(request, service, other)
    if not (after.count and before.count):
        raise Refused(Reason.NOT_FOUND, f"Expected rows in both spans, got {before.count} and {after.count}.")
    model = await _model(service, before, clusters) if clusters else None
    settings = service.settings
    found = await service.decoder.drift(before, after, settings.drift_level, settings.drift_effect, model)
    return JSONResponse(found)


def _clusters(request: Request, default: int, least: int) -> int:
    found = whole(request, "k", default)
    if not least <= found <= _MOST_CLUSTERS:
        raise Refused(Reason.BAD_REQUEST, f"Expected k from {least} to {_MOST_CLUSTERS}, got {found}.")
    return found


async def _model(service: Service, sketch: Sketch, clusters: int) -> bytes:
    """Return the model of a sketch, from the store if it is there: the same sums and K give the same one."""
    if not sketch.count:
        raise Refused(Reason.NOT_FOUND, "Expected rows to find clusters in, got none in this span and group.")
    key = f"{hashlib.sha256(files.dumps(sketch)).hexdigest()}-{clusters}"
    known = await service.read(lambda db: db.one("SELECT model FROM models WHERE key = ?", (key,)))
    if known is not None:
        return bytes(known[0])
    model = await service.decoder.model(sketch, clusters)
    now = int(time.time())
    insert = "INSERT INTO models (key, created, model) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING"
    await service.committer.do(lambda db: db.execute(insert, (key, now, model)))
    return model


async def health(request: Request) -> Response:
    """Say that the process is there."""
    return JSONResponse({"status": "up"})


async def readiness(request: Request) -> Response:
    """Say whether something that is sent now can be written."""
    if not await request.app.state.service.is_ready():
        return JSONResponse({"status": "the store cannot be written"}, 503)
    return JSONResponse({"status": "ready"})


async def get_metrics(request: Request, service: Service, token: Token) -> Response:
    """Return numbers for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
