"""What all requests have in common: a token that may, a body that is not too large, parameters that make sense."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from qckm.collector.refusals import Reason, Refused, Unavailable
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.windows import Asked
from qckm.errors import QckmError

log = logging.getLogger("qckm.collector")
Handler = Callable[[Request, Service, Token], Awaitable[Response]]
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
            headers = {"Retry-After": "1"} if refused.status == 429 else {}
            return JSONResponse({"error": str(refused), "reason": refused.reason}, refused.status, headers)

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


async def body_of(request: Request, most: int) -> bytes:
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
        raise Refused(Reason.BAD_REQUEST, f"Expected a request within {_BODY_SECONDS} seconds.") from None
    return b"".join(chunks)


async def _discard(stream: AsyncIterator[bytes]) -> None:
    """Read on for a while: whoever is hung up on while sending never hears why, and sends it all again."""
    size = 0
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        while size < _MOST_DISCARDED:
            async with asyncio.timeout(_SILENT_SECONDS):
                size += len(await anext(stream))


def asked_of(request: Request, begin: str = "from", end: str = "to") -> Asked:
    """Return the span and the group that a request asks for."""
    given = request.query_params
    return Asked.parse(given.get(begin), given.get(end), given.get("group"))


def flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false."""
    value = str(request.query_params.get(name, "false")).lower()
    if value not in ("true", "false"):
        raise Refused(Reason.BAD_REQUEST, f"Expected {name}=true or false, got {value!r:.40}.")
    return value == "true"


def whole(request: Request, name: str, default: int) -> int:
    """Return a parameter that is a whole number."""
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise Refused(Reason.BAD_REQUEST, f"Expected {name} to be a whole number, got {value!r:.40}.")
    return int(value)


async def json_of(request: Request) -> dict[str, Any]:
    """Return a body that is a JSON object."""
    try:
        found = json.loads(await body_of(request, 1 << 16))
    except (ValueError, RecursionError) as error:
        raise Refused(Reason.BAD_REQUEST, "Expected JSON.") from error
    if not isinstance(found, dict):
        raise Refused(Reason.BAD_REQUEST, "Expected a JSON object.")
    return found
