"""The HTTP door: parts and messages in, sketches, models and drift out. Every answer of "accepted" is on the disk."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qckm.collector import parts, releasing, sums, withdrawing
from qckm.collector.decoding import model_key
from qckm.collector.parts import Part
from qckm.collector.refusals import Reason, Refused, Unavailable
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.sums import Asked
from qckm.collector.windows import cell_of_part, parse_time, require_name, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, files

log = logging.getLogger("qckm.collector")
Handler = Callable[[Request, Service, Token], Awaitable[Response]]
SKETCH = "application/vnd.qckm"
_BODY_SECONDS = 60


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
        except Refused as error:
            service.note_refusal(error, name)
            headers = {"Retry-After": "1"} if error.status == 429 else {}
            return JSONResponse({"error": str(error), "reason": error.reason}, error.status, headers)
        except Unavailable as error:
            log.warning("unavailable", extra={"error": str(error), "path": request.url.path})
            words = "The store cannot be written right now: nothing was acknowledged, send it again."
            return JSONResponse({"error": words, "reason": "unavailable"}, 503, {"Retry-After": "1"})
        except ClientDisconnect:
            return Response(status_code=400)
        except QckmError as error:
            return JSONResponse({"error": str(error), "reason": Reason.BAD_REQUEST}, 400)

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


async def body_of(request: Request, most: int) -> bytes:
    """Return the body of a request, if it is not too large; a length that is claimed is not believed."""
    claimed = request.headers.get("content-length", "0")
    if claimed.isdigit() and int(claimed) > most:
        raise Refused(Reason.TOO_LARGE, f"Expected at most {most} bytes, got {claimed}.")
    chunks, size = [], 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise Refused(Reason.TOO_LARGE, f"Expected at most {most} bytes, got more.")
                chunks.append(chunk)
    except TimeoutError:
        raise Refused(Reason.BAD_REQUEST, f"Expected a request within {_BODY_SECONDS} seconds.") from None
    return b"".join(chunks)


async def put_part(request: Request, service: Service, token: Token) -> Response:
    """Count a sketch, once."""
    name = require_name(request.path_params["part"])
    token.require_part(name)
    now = int(time.time())
    at = request.query_params.get("at")
    cell = cell_of_part(name, None if at is None else parse_time(at), now, service.settings)
    sketch = parts.read_sketch(await body_of(request, service.settings.most_part), service.operator, name)
    part = Part.of(name, cell, sketch, token.name, _flag(request, "replace"))
    outcome = await service.committer.do(lambda db: parts.put(db, part, now), name)
    service.metrics.parts.labels(outcome).inc()
    if outcome != "repeated":
        service.metrics.rows.inc(int(sketch.count))
    told = {
        "part": name,
        "outcome": outcome,
        "rows": sketch.count,
        "group": cell.group,
        "window": show_time(cell.start),
    }
    return JSONResponse(told, 201 if outcome == "accepted" else 200)


async def delete_part(request: Request, service: Service, token: Token) -> Response:
    """Take a part out again."""
    name = require_name(request.path_params["part"])
    if "admin" not in token.rights:
        token.require_part(name)
    now = int(time.time())
    rows = await service.committer.do(lambda db: parts.withdraw(db, name, service.operator, token.name, now), name)
    return JSONResponse({"part": name, "outcome": "withdrawn", "rows": rows})


async def list_parts(request: Request, service: Service, token: Token) -> Response:
    """List the parts of a span and a group, the newest first."""
    asked, most = asked_of(request), min(_whole(request, "limit", 100), 10_000)
    where, values = asked.where
    columns = ("name", "grp", "start", "span", "state", "rows", "sender", "received")
    rows = await service.read(
        lambda db: db.rows(
            f"SELECT {', '.join(columns)} FROM parts WHERE {where} ORDER BY received DESC, name LIMIT ?",
            [*values, most],
        )
    )
    return JSONResponse([dict(zip(columns, row, strict=True)) | {"window": show_time(row[2])} for row in rows])


async def post_messages(request: Request, service: Service, token: Token) -> Response:
    """Count messages that follow one another, each once; say which were refused."""
    data = await body_of(request, service.settings.most_body)
    service.message_limits.require(token.id)
    checked = await service.check_messages(data, token.name)
    service.message_limits.take(token.id, len(checked))
    results = await service.count(checked)
    refused = [
        {"at": at, "reason": result.reason, "error": str(result)}
        for at, result in enumerate(results)
        if isinstance(result, Refused)
    ]
    return JSONResponse(
        {"accepted": results.count(True), "repeated": results.count(False), "refused": refused, "total": len(results)}
    )


async def get_operator(request: Request, service: Service, token: Token) -> Response:
    """Return the operator, as a sketch of no rows."""
    return Response(files.dumps(service.operator.empty()), media_type=SKETCH)


async def get_sketch(request: Request, service: Service, token: Token) -> Response:
    """Return the sketch of a span and a group."""
    return Response(files.dumps(await _sketch(request, service, asked_of(request))), media_type=SKETCH)


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
    from qckm.collector.tables import windows_table, write_table

    table = await service.read(lambda db: windows_table(db, service.operator, asked))
    return Response(write_table(table, form), media_type="application/octet-stream")


async def get_model(request: Request, service: Service, token: Token) -> Response:
    """Return the centroids of a span and a group; the same sums are decoded once."""
    clusters = _whole(request, "k", service.settings.clusters)
    if not 1 <= clusters <= 1000:
        raise Refused(Reason.BAD_REQUEST, f"Expected k from 1 to 1000, got {clusters}.")
    sketch = await _sketch(request, service, asked_of(request))
    return Response(await model_of(service, sketch, clusters), media_type="application/json")


async def model_of(service: Service, sketch: Sketch, clusters: int) -> bytes:
    """Return the model of a sketch, from the store if it is there."""
    if not sketch.count:
        raise Refused(Reason.NOT_FOUND, "Expected rows to find clusters in, got none in this span and group.")
    key = model_key(sketch, clusters)
    known = await service.read(lambda db: db.one("SELECT model FROM models WHERE key = ?", (key,)))
    if known is not None:
        return bytes(known[0])
    model = await service.decoder.model(sketch, clusters)
    now = int(time.time())
    insert = "INSERT INTO models (key, created, model) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING"
    await service.committer.do(lambda db: db.execute(insert, (key, now, model)))
    return model


async def get_drift(request: Request, service: Service, token: Token) -> Response:
    """Compare a span with another one, the reference, of the same group."""
    asked = asked_of(request)
    other = asked_of(request, "reference_from", "reference_to")
    if max(asked.begin, other.begin) < min(asked.end, other.end):
        raise Refused(
            Reason.BAD_REQUEST,
            "Expected two spans that do not overlap: from, to, reference_from and reference_to.",
        )
    after, before = await _sketch(request, service, asked), await _sketch(request, service, other)
    if not (after.count and before.count):
        raise Refused(Reason.NOT_FOUND, f"Expected rows in both spans, got {before.count} and {after.count}.")
    clusters = _whole(request, "k", 0)
    model = await model_of(service, before, clusters) if clusters else None
    return JSONResponse(await service.decoder.drift(before, after, service.settings.drift_level, model))


async def post_withdrawal(request: Request, service: Service, token: Token) -> Response:
    """Take out what a device, or all devices of a group, sent within a span."""
    asked, now = await _json(request), int(time.time())
    begin, end = (parse_time(str(asked[name])) if name in asked else default for name, default in _EDGES.items())
    span = Asked(begin, end)
    if ("device" in asked) == ("group" in asked):
        raise Refused(Reason.BAD_REQUEST, 'Expected {"device": 17} or {"group": "berlin"}, with "from" and "to".')
    if "device" in asked:
        if not isinstance(asked["device"], int):
            raise Refused(Reason.BAD_REQUEST, "Expected the number of a device.")
        done = await service.committer.do(
            lambda db: withdrawing.withdraw_device(db, asked["device"], span, service.settings, token.name, now)
        )
    else:
        group = Asked(span.begin, span.end, require_name(str(asked["group"])))
        done = await service.committer.do(lambda db: withdrawing.withdraw_group(db, group, token.name, now))
    return JSONResponse({"rows": done.rows, "windows": done.windows, "left_as_they_are": done.untouched})


async def post_release(request: Request, service: Service, token: Token) -> Response:
    """Return a private sketch of a span and a group, out of the budget."""
    asked, now = await _json(request), int(time.time())
    begin, end = (parse_time(str(asked.pop(name))) if name in asked else default for name, default in _EDGES.items())
    group = str(asked.pop("group", ""))
    span = Asked(begin, end, require_name(group) if group else "")
    data = await service.committer.do(
        lambda db: releasing.release_span(db, service.operator, service.settings, span, asked, now)
    )
    return Response(data, media_type=SKETCH)


_EDGES = {"from": 0, "to": Asked().end}


def asked_of(request: Request, begin: str = "from", end: str = "to") -> Asked:
    """Return the span and the group that a request asks for."""
    given = request.query_params
    first, last = (
        parse_time(given[name]) if name in given else default
        for name, default in zip((begin, end), _EDGES.values(), strict=True)
    )
    if first >= last:
        raise Refused(Reason.BAD_REQUEST, f"Expected {begin} to be before {end}.")
    group = given.get("group", "")
    return Asked(first, last, require_name(group) if group else "")


async def _sketch(request: Request, service: Service, asked: Asked) -> Sketch:
    ask = sums.private_sketch_of if _flag(request, "private") else sums.sketch_of
    return await service.read(lambda db: ask(db, service.operator, asked))


def _flag(request: Request, name: str) -> bool:
    value = str(request.query_params.get(name, "false")).lower()
    if value not in ("true", "false"):
        raise Refused(Reason.BAD_REQUEST, f"Expected {name}=true or false, got {value!r:.40}.")
    return value == "true"


def _whole(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, str(default))
    if not value.isdigit() or len(value) > 9:
        raise Refused(Reason.BAD_REQUEST, f"Expected {name} to be a whole number, got {value!r:.40}.")
    return int(value)


async def _json(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await body_of(request, 1 << 16))
    except (ValueError, RecursionError) as error:
        raise Refused(Reason.BAD_REQUEST, "Expected JSON.") from error
    if not isinstance(found, dict):
        raise Refused(Reason.BAD_REQUEST, "Expected a JSON object.")
    return found


async def health(request: Request) -> Response:
    """Say that the process is there."""
    return JSONResponse({"status": "up"})


async def readiness(request: Request) -> Response:
    """Say whether something that is sent now can be written."""
    service: Service = request.app.state.service
    try:
        await asyncio.wait_for(service.committer.do(lambda db: db.one("SELECT 1")), 5)
    except (Unavailable, TimeoutError):
        return JSONResponse({"status": "the store cannot be written"}, 503)
    return JSONResponse({"status": "ready"})


async def get_metrics(request: Request, service: Service, token: Token) -> Response:
    """Return numbers for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


class SafeHeaders:
    """Tells browsers to trust nothing but this page's own files."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Add the headers to an answer."""

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self.app(scope, receive, with_headers)


_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        b"base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


def make_app(service: Service, more: list[Route], lifespan: Any = None) -> Starlette:
    """Return the application, with some more routes."""
    routes = [
        Route("/healthz", health),
        Route("/readyz", readiness),
        Route("/metrics", door("read", get_metrics)),
        Route("/v1/operator", door(None, get_operator)),
        Route("/v1/parts", door("read", list_parts)),
        Route("/v1/parts/{part:path}", door(None, put_part), methods=["PUT"]),
        Route("/v1/parts/{part:path}", door(None, delete_part), methods=["DELETE"]),
        Route("/v1/messages", door("relay", post_messages), methods=["POST"]),
        Route("/v1/sketch", door("read", get_sketch)),
        Route("/v1/windows", door("read", get_windows)),
        Route("/v1/model", door("read", get_model)),
        Route("/v1/drift", door("read", get_drift)),
        Route("/v1/releases", door("admin", post_release), methods=["POST"]),
        Route("/v1/withdrawals", door("admin", post_withdrawal), methods=["POST"]),
        *more,
    ]
    app = Starlette(routes=routes, middleware=[Middleware(SafeHeaders)], lifespan=lifespan)
    app.state.service = service
    return app
