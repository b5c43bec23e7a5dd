"""The HTTP server: which request does what and who may make it, until it is told to stop; what was taken is written."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from qckm.collector import api, overview
from qckm.collector.api import door, nowhere
from qckm.collector.mqtt import Broker, Subscriber
from qckm.collector.service import Service
from qckm.collector.watching import watch
from qckm.errors import CollectorError

log = logging.getLogger("qckm.collector")
# Requests at a time: beyond, they are answered with 503. Connections: beyond, silent ones are closed.
_MOST_REQUESTS, _MOST_CONNECTIONS = 1000, 500
# Bytes of a connection that no request waits for: headers without end, the rest of a body that was refused.
_MOST_UNASKED = 1 << 20
# What every record of a log has.
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


@dataclass(frozen=True)
class Address:
    """Where a collector listens."""

    host: str = "127.0.0.1"
    port: int = 8321
    certificate: str | None = None
    key: str | None = None

    @property
    def url(self) -> str:
        """How it is called."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


@contextlib.contextmanager
def reserved(address: Address) -> Iterator[list[socket.socket]]:
    """Have sockets of an address, which nobody can connect to yet; refuse one that cannot be served at."""
    if address.certificate and address.key:
        try:
            # A key with a passphrase would ask for it, where nobody sits.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(address.certificate, address.key, lambda: "")
        except (OSError, ValueError) as error:
            raise CollectorError(
                f"Expected a certificate and its key, without a passphrase, as PEM files, in {address.certificate} and "
                f"{address.key}, got: {error}."
            ) from error
    with contextlib.ExitStack() as opened:
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = []
            for family, _, _, _, place in sorted(set(found)):
                one = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:  # 0.0.0.0 has a socket of its own
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind(place)
                sockets.append(one)
        except OSError as error:
            raise CollectorError(
                f"Expected to listen at {address.host}, port {address.port}, got: {error.strerror}. Another collector "
                "may be there: end it, or choose another --port or --host."
            ) from error
        yield sockets


def make_server(service: Service, address: Address, broker: Broker | None = None) -> uvicorn.Server:
    """Return a server of HTTP, and of what comes from a broker, that is to be run until SIGTERM or Ctrl-C."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        app.state.latest = overview.Latest(service)
        service.every(10.0, lambda: watch(service))
        subscriber = None
        if broker is not None:
            subscriber = Subscriber(broker, service, str(address.port))
            service.publish = subscriber.publish
            subscriber.start()
        log.info("listening", extra={"url": address.url})
        if not (address.certificate or address.host == "localhost" or address.host.startswith(("127.", "::1"))):
            log.warning("without TLS, whoever listens can read tokens and sketches: see --certificate")
        yield
        if subscriber is not None:
            await subscriber.stop()
        await service.stop()
        log.info("stopped")

    app = make_app(service, lifespan)
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        http=Connection,
        ws="none",
        headers=_HEADERS,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        limit_concurrency=_MOST_REQUESTS,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    server = app.state.server = uvicorn.Server(config)
    return server


class Connection(HttpToolsProtocol):  # type: ignore[misc]
    """One that makes room for others: where there are too many, whoever has asked nothing for longest has to go.

    Otherwise anybody could open a thousand, send half a request now and then, and keep all others out.
    """

    def connection_made(self, transport: Any) -> None:
        """Take one more, and close another one if need be."""
        super().connection_made(transport)
        self.asked, self.unasked = time.monotonic(), 0
        if len(self.connections) > _MOST_CONNECTIONS:
            silent = [each for each in self.connections if each.is_silent and each is not self]
            if silent:
                min(silent, key=lambda each: each.asked).transport.close()

    def data_received(self, data: bytes) -> None:
        """Take what has come; httptools would keep headers of any length."""
        super().data_received(data)
        if self.is_silent:
            self.unasked += len(data)
            if self.unasked > _MOST_UNASKED:
                self.transport.close()

    def on_headers_complete(self) -> None:
        """Note that a whole request has come; what comes byte by byte does not count."""
        self.asked, self.unasked = time.monotonic(), 0
        super().on_headers_complete()

    @property
    def is_silent(self) -> bool:
        """Whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete


def make_app(service: Service, lifespan: Any = None) -> Starlette:
    """Return the application."""
    routes = [
        Route("/healthz", api.health),
        Route("/readyz", api.readiness),
        Route("/metrics", door("read", api.get_metrics)),
        Route("/v1/operator", door(None, api.get_operator)),
        Route("/v1/parts", door("read", api.list_parts)),
        Route("/v1/parts/{part:path}", door(None, api.put_part), methods=["PUT"]),
        Route("/v1/parts/{part:path}", door(None, api.delete_part), methods=["DELETE"]),
        Route("/v1/messages", door("relay", api.post_messages), methods=["POST"]),
        Route("/v1/sketch", door("read", api.get_sketch)),
        Route("/v1/windows", door("read", api.get_windows)),
        Route("/v1/model", door("read", api.get_model)),
        Route("/v1/drift", door("read", api.get_drift)),
        Route("/v1/releases", door("admin", api.post_release), methods=["POST"]),
        Route("/v1/withdrawals", door("admin", api.post_withdrawal), methods=["POST"]),
        Route("/v1/overview", door("read", overview.get_overview)),
        Route("/v1/events", door("read", overview.get_events)),
        Mount("/", StaticFiles(packages=[("qckm.collector", "page")], html=True)),  # none of them holds a secret
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: nowhere}, lifespan=lifespan)
    app.state.service = service
    return app


# Browsers are told to trust nothing but this page's own files.
_HEADERS = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
]


class JsonLines(logging.Formatter):
    """A record as one line of JSON, never a secret or a row."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what was given as `extra` is in it under its own name."""
        facts: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        facts |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        return json.dumps(facts, default=str)


def log_to_stderr(level: str = "info") -> None:
    """Write the collector's log, and uvicorn's, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("qckm.collector", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
