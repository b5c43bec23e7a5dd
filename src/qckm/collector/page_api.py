"""The page and what keeps it up to date: its files, and an overview as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from qckm.collector.overview import overview
from qckm.collector.refusals import Unavailable
from qckm.collector.requests import door
from qckm.collector.senders import Token
from qckm.collector.service import Service

FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/charts.js": ("charts.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}
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


async def get_file(request: Request) -> Response:
    """Return a file of the page; none of them holds a secret."""
    name, kind = FILES[request.url.path]
    return Response(files("qckm.collector").joinpath("page", name).read_bytes(), media_type=f"{kind}; charset=utf-8")


def routes() -> list[Route]:
    """Return where the page and its data are."""
    return [
        *(Route(path, get_file) for path in FILES),
        Route("/v1/overview", door("read", get_overview)),
        Route("/v1/events", door("read", get_events)),
    ]
