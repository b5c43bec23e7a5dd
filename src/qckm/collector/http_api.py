"""The HTTP door: which request does what, and who may make it."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from qckm.collector import reading_api, sending_api
from qckm.collector.requests import door
from qckm.collector.service import Service


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
        Route("/healthz", reading_api.health),
        Route("/readyz", reading_api.readiness),
        Route("/metrics", door("read", reading_api.get_metrics)),
        Route("/v1/operator", door(None, reading_api.get_operator)),
        Route("/v1/parts", door("read", reading_api.list_parts)),
        Route("/v1/parts/{part:path}", door(None, sending_api.put_part), methods=["PUT"]),
        Route("/v1/parts/{part:path}", door(None, sending_api.delete_part), methods=["DELETE"]),
        Route("/v1/messages", door("relay", sending_api.post_messages), methods=["POST"]),
        Route("/v1/sketch", door("read", reading_api.get_sketch)),
        Route("/v1/windows", door("read", reading_api.get_windows)),
        Route("/v1/model", door("read", reading_api.get_model)),
        Route("/v1/drift", door("read", reading_api.get_drift)),
        Route("/v1/releases", door("admin", sending_api.post_release), methods=["POST"]),
        Route("/v1/withdrawals", door("admin", sending_api.post_withdrawal), methods=["POST"]),
        *more,
    ]
    app = Starlette(routes=routes, middleware=[Middleware(SafeHeaders)], lifespan=lifespan)
    app.state.service = service
    return app
