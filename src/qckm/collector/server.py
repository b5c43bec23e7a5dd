"""Runs a collector: HTTP by uvicorn, until it is told to stop; what was taken by then is written."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette

from qckm.collector.http_api import make_app
from qckm.collector.mqtt import Broker, Subscriber
from qckm.collector.page_api import Latest, routes
from qckm.collector.service import Service
from qckm.collector.watching import watch

log = logging.getLogger("qckm.collector")


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


def serve(service: Service, address: Address, broker: Broker | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C, HTTP and what comes from a broker."""
    with contextlib.suppress(KeyboardInterrupt):  # after a graceful end, uvicorn raises again what ended it
        make_server(service, address, broker).run()


def make_server(service: Service, address: Address, broker: Broker | None = None) -> uvicorn.Server:
    """Return a server that is to be run."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        app.state.latest = Latest(service)
        service.every(10.0, lambda: watch(service))
        subscriber = None
        if broker is not None:
            subscriber = service.subscriber = Subscriber(broker, service, str(address.port))
            subscriber.start()
        log.info("listening", extra={"url": address.url})
        yield
        if subscriber is not None:
            await subscriber.stop()
        await service.stop()
        log.info("stopped")

    options: dict[str, Any] = {"ssl_certfile": address.certificate, "ssl_keyfile": address.key}
    app = make_app(service, routes(), lifespan)
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 << 10,
        **options,
    )
    server = app.state.server = uvicorn.Server(config)
    return server
