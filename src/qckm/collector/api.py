"""What comes in and goes out by HTTP: a function for each kind of request. "Accepted" is on the disk.

All requests have in common a token that may, a body that is not too large, parameters that make sense.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import io
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from qckm.collector import counting, parts, sums
from qckm.collector.database import Database
from qckm.collector.parts import Part
from qckm.collector.refusals import Reason, Refused, Unavailable
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.windows import Asked, cell_of_part, forgotten_before, parse_time, require_name, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator, files

log = logging.getLogger("qckm.collector")
Handler = Callable[[Request, Service, Token], Awaitable[Response]]
SKETCH = "application/vnd.qckm"
_TIME = pa.timestamp("ms", tz="UTC")  # Parquet has no seconds
_SCHEMA = pa.schema(
    [("group", pa.string()), ("start", _TIME), ("end", _TIME), ("rows", pa.int64()), ("sketch", pa.binary())]
)
# Windows with their sketches in one answer, which is made in memory.
_MOST_WINDOWS = 20_000
_MOST_CLUSTERS = 1000
_BODY_SECONDS = 60
# Of a body that is too large: what is read of it nevertheless, and for how long it may pause.
_MOST_DISCARDED, _SILENT_SECONDS = 64 << 20, 2


def door(right: str | None, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Let in who has a right (None: any token), and turn what is refused into an answer that says why."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        service: Service = request.app.state.service
        address = request.client.host if request.client else "unknown"
        name = "unknown"
        try:
            token = await _token_of(request, service, address)
            name = token.name
            if right is not None:
                token.require(right)
            return await handler(request, service, token)
        except Unavailable as error:
            log.warning("unavailable", extra={"error": str(error), "path": request.url.path})
            words = "The store cannot be written right now: nothing was acknowledged, send it again."
            return JSONResponse({"error": words, "reason": "unavailable"}, 503, {"Retry-After": "1"})
        except ClientDisconnect:
            return Response(status_code=400)
        except QckmError as error:
            refused = error if isinstance(error, Refused) else Refused(Reason.BAD_REQUEST, str(error))
            service.note_refusal(refused, name)
            headers = {"Retry-After": "1"} if refused.reason is Reason.TOO_MANY else {}
            return JSONResponse({"error": str(refused), "reason": refused.reason}, refused.reason.status, headers)

    return answer


async def _token_of(request: Request, service: Service, address: str) -> Token:
    """Return whose request it is. Only who fails is slowed down: others may come from the same address."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    given = secret.strip() if scheme.lower() == "bearer" and secret else None
    try:
        return service.directory.token_of(given)
    except Refused:
        service.failures.take(address)
        if given is None or not await service.look_again():
            raise
    return service.directory.token_of(given)


async def nowhere(request: Request, error: HTTPException) -> Response:
    """Answer a request for what there is not, or by a method that it has not."""
    reason = Reason.NOT_FOUND if error.status_code == 404 else Reason.BAD_REQUEST
    return JSONResponse({"error": f"{error.detail}.", "reason": reason}, error.status_code, error.headers)


async def put_part(request: Request, service: Service, token: Token) -> Response:
    """Count a sketch, once."""
    name, at, now = require_name(request.path_params["part"]), request.query_params.get("at"), int(time.time())
    token.require_part(name)
    cell = cell_of_part(name, None if at is None else parse_time(at), now, service.settings)
    body = await _body_of(request, service.settings.most_part)
    service.limits.take(token.id, 1 + len(body) / 1000)
    sketch = parts.read_sketch(body, service.operator, name, any_name="*" in token.parts)
    part = Part.of(name, cell, sketch, token.name, _flag(request, "replace"))
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
    (where, values), most = _asked_of(request).where, min(_whole(request, "limit", 100), 10_000)
    columns = ("name", "grp", "start", "span", "state", "rows", "sender", "received")
    rest = f"WHERE {where} ORDER BY received DESC, name LIMIT ?"
    found = await service.read(lambda db: db.dicts("parts", columns, rest, [*values, most]))
    return JSONResponse([part | {"window": show_time(part["start"])} for part in found])


async def post_messages(request: Request, service: Service, token: Token) -> Response:
    """Count messages that follow one another, each once; say which were refused."""
    data = await _body_of(request, service.settings.most_body)
    service.limits.take(token.id, 0)
    checked = await service.check_messages([data], token.name)
    service.limits.take(token.id, len(checked))
    results = await service.count(checked)
    refused = [
        {"at": at, "reason": result.reason, "error": str(result)}
        for at, result in enumerate(results)
        if isinstance(result, Refused)
    ]
    counts = {"accepted": results.count(True), "repeated": results.count(False)}
    return JSONResponse({**counts, "refused": refused, "total": len(results)})


async def post_withdrawal(request: Request, service: Service, token: Token) -> Response:
    """Take out what a device, or all devices of a group, sent within a span."""
    asked, now = await _json_of(request), int(time.time())
    span, device = Asked.parse(asked.get("from"), asked.get("to"), asked.get("group")), asked.get("device")
    if ("device" in asked) == ("group" in asked) or not isinstance(device, int | None) or isinstance(device, bool):
        raise _bad('Expected {"device": 17} or {"group": "berlin"}, with "from" and "to".')
    done = await service.committer.do(lambda db: counting.withdraw(db, span, device, token.name, now))
    return JSONResponse({"rows": done.rows, "windows": done.windows, "left_as_they_are": done.untouched})


async def post_release(request: Request, service: Service, token: Token) -> Response:
    """Return a private sketch of a span and a group, out of the budget."""
    asked, now = await _json_of(request), int(time.time())
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
    return Response(files.dumps(await _sketch(request, service, _asked_of(request))), media_type=SKETCH)


async def _sketch(request: Request, service: Service, asked: Asked) -> Sketch:
    ask = sums.private_sketch_of if _flag(request, "private") else sums.sketch_of
    return await service.read(lambda db: ask(db, service.operator, asked))


async def get_windows(request: Request, service: Service, token: Token) -> Response:
    """Return the windows of a span and a group, with their sketches as Parquet or Arrow, without them as JSON."""
    asked, form = _asked_of(request), request.query_params.get("format", "json")
    if form == "json":
        cells = await service.read(lambda db: sums.cells_of(db, asked))
        told = [
            {"group": cell.group, "start": show_time(cell.start), "seconds": cell.span, "rows": rows}
            for cell, rows in cells.items()
        ]
        return JSONResponse(told)
    if form not in ("parquet", "arrow"):
        raise _bad(f"Expected format json, parquet or arrow, got {form!r:.40}.")
    data = await service.read(lambda db: _table(db, service.operator, asked, form))
    return Response(data, media_type="application/octet-stream")


def _table(db: Database, operator: SketchOperator, asked: Asked, form: str) -> bytes:
    """Return windows as a Parquet file or an Arrow stream; the column `sketch` holds the bytes of .qckm files."""
    cells = sums.cells_of(db, asked)
    if len(cells) > _MOST_WINDOWS:
        raise _bad(f"Expected at most {_MOST_WINDOWS} windows, got {len(cells)}: ask for a shorter span.")
    rows = [
        (cell.group, 1000 * cell.start, 1000 * cell.end, count, files.dumps(sums.sketch_of_cell(db, operator, cell)))
        for cell, count in cells.items()
    ]
    table = pa.Table.from_pylist([dict(zip(_SCHEMA.names, row, strict=True)) for row in rows], _SCHEMA)
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
    sketch = await _sketch(request, service, _asked_of(request))
    return Response(await _model(service, sketch, clusters), media_type="application/json")


async def get_drift(request: Request, service: Service, token: Token) -> Response:
    """Compare a span with another one, the reference, of the same group."""
    asked, other = _asked_of(request), _asked_of(request, "reference_from", "reference_to")
    clusters = _clusters(request, 0, 0)
    if max(asked.begin, other.begin) < min(asked.end, other.end):
        raise _bad("Expected two spans that do not overlap: from, to, reference_from and reference_to.")
    after, before = await _sketch(request, service, asked), await _sketch(request, service, other)
    if not (after.count and before.count):
        raise Refused(Reason.NOT_FOUND, f"Expected rows in both spans, got {before.count} and {after.count}.")
    model = await _model(service, before, clusters) if clusters else None
    settings = service.settings
    found = await service.decoder.drift(before, after, settings.drift_level, settings.drift_effect, model)
    return JSONResponse(found)


def _clusters(request: Request, default: int, least: int) -> int:
    found = _whole(request, "k", default)
    if not least <= found <= _MOST_CLUSTERS:
        raise _bad(f"Expected k from {least} to {_MOST_CLUSTERS}, got {found}.")
    return found


async def _model(service: Service, sketch: Sketch, clusters: int) -> bytes:
    """Return the model of a sketch, from the store if it is there: the same sums and K give the same one."""
    if not sketch.count:
        raise Refused(Reason.NOT_FOUND, "Expected rows to find clusters in, got none in this span and group.")
    key = f"{hashlib.sha256(files.dumps(sketch)).hexdigest()}-{clusters}"
    known = await service.read(lambda db: db.value("SELECT model FROM models WHERE key = ?", (key,)))
    if known is not None:
        return bytes(known)
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
    return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def _bad(words: str) -> Refused:
    return Refused(Reason.BAD_REQUEST, words)


async def _body_of(request: Request, most: int) -> bytes:
    """Return the body of a request, if it is not too large; a length that is claimed is not believed."""
    claimed = request.headers.get("content-length", "0")
    stream, chunks, size = request.stream(), list[bytes](), 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            if claimed.isdigit() and int(claimed) > most:
                if "expect" not in request.headers and int(claimed) <= _MOST_DISCARDED:
                    await _discard(stream)
                raise Refused(Reason.TOO_LARGE, f"Expected at most {most} bytes, got {claimed}.")
            async for chunk in stream:
                size += len(chunk)
                if size > most:
                    await _discard(stream)
                    raise Refused(Reason.TOO_LARGE, f"Expected at most {most} bytes, got more.")
                chunks.append(chunk)
    except TimeoutError:
        raise _bad(f"Expected a request within {_BODY_SECONDS} seconds.") from None
    return b"".join(chunks)


async def _discard(stream: AsyncIterator[bytes]) -> None:
    """Read on for a while: whoever is hung up on while sending never hears why, and sends it all again."""
    size = 0
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        while size < _MOST_DISCARDED:
            async with asyncio.timeout(_SILENT_SECONDS):
                size += len(await anext(stream))


def _asked_of(request: Request, begin: str = "from", end: str = "to") -> Asked:
    """Return the span and the group that a request asks for."""
    given = request.query_params
    return Asked.parse(given.get(begin), given.get(end), given.get("group"))


def _flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false."""
    value = str(request.query_params.get(name, "false")).lower()
    if value not in ("true", "false"):
        raise _bad(f"Expected {name}=true or false, got {value!r:.40}.")
    return value == "true"


def _whole(request: Request, name: str, default: int) -> int:
    """Return a parameter that is a whole number."""
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise _bad(f"Expected {name} to be a whole number, got {value!r:.40}.")
    return int(value)


async def _json_of(request: Request) -> dict[str, Any]:
    """Return a body that is a JSON object."""
    try:
        found = json.loads(await _body_of(request, 1 << 16))
    except (ValueError, RecursionError) as error:
        raise _bad("Expected JSON.") from error
    if not isinstance(found, dict):
        raise _bad("Expected a JSON object.")
    return found
