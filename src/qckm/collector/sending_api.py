"""What comes in by HTTP: parts and messages, and what is taken out or released. "Accepted" is on the disk."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qckm.collector import parts, sums, withdrawing
from qckm.collector.parts import Part
from qckm.collector.refusals import Reason, Refused
from qckm.collector.requests import SKETCH, body_of, flag, json_of
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.sums import Asked
from qckm.collector.windows import cell_of_part, parse_time, require_name, show_time


async def put_part(request: Request, service: Service, token: Token) -> Response:
    """Count a sketch, once."""
    name = require_name(request.path_params["part"])
    token.require_part(name)
    now = int(time.time())
    at = request.query_params.get("at")
    cell = cell_of_part(name, None if at is None else parse_time(at), now, service.settings)
    body = await body_of(request, service.settings.most_part)
    sketch = parts.read_sketch(body, service.operator, name, any_name="*" in token.parts)
    part = Part.of(name, cell, sketch, token.name, flag(request, "replace"))
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


async def post_withdrawal(request: Request, service: Service, token: Token) -> Response:
    """Take out what a device, or all devices of a group, sent within a span."""
    asked, now = await json_of(request), int(time.time())
    span = Asked.parse(asked.get("from"), asked.get("to"), asked.get("group"))
    if ("device" in asked) == ("group" in asked):
        raise Refused(Reason.BAD_REQUEST, 'Expected {"device": 17} or {"group": "berlin"}, with "from" and "to".')
    if "device" in asked:
        if type(asked["device"]) is not int:
            raise Refused(Reason.BAD_REQUEST, "Expected the number of a device.")
        done = await service.committer.do(
            lambda db: withdrawing.withdraw_device(
                db, asked["device"], span, service.settings.group_depth, token.name, now
            )
        )
    else:
        done = await service.committer.do(lambda db: withdrawing.withdraw_group(db, span, token.name, now))
    return JSONResponse({"rows": done.rows, "windows": done.windows, "left_as_they_are": done.untouched})


async def post_release(request: Request, service: Service, token: Token) -> Response:
    """Return a private sketch of a span and a group, out of the budget."""
    asked, now = await json_of(request), int(time.time())
    span = Asked.parse(*(asked.pop(name, None) for name in ("from", "to", "group")))
    data = await service.committer.do(
        lambda db: sums.release_span(db, service.operator, service.settings, span, asked, now)
    )
    return Response(data, media_type=SKETCH)
