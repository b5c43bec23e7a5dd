"""What Prometheus is told, and what the log says: one JSON object a line, never a secret or a row."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Metrics:
    """The numbers of one collector, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": self.registry}
        self.messages = Counter("qckm_messages", "Messages of devices, by what became of them", ["outcome"], **given)
        self.parts = Counter("qckm_parts", "Parts, by what became of them", ["outcome"], **given)
        self.rows = Counter("qckm_rows", "Rows that were added to sums", **given)
        self.refused = Counter("qckm_refused", "Whatever was refused, by reason", ["reason"], **given)
        self.commits = Histogram(
            "qckm_commit_seconds",
            "Transactions, until they are on the disk",
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5),
            **given,
        )
        self.batch = Histogram(
            "qckm_commit_messages", "Messages in a transaction", buckets=(1, 10, 100, 1000, 10_000), **given
        )
        self.waiting = Gauge("qckm_waiting_messages", "Messages that wait for a commit", **given)
        self.mqtt = Gauge("qckm_mqtt_connected", "Whether there is a connection to the broker", **given)

    def text(self) -> bytes:
        """Return all numbers, as Prometheus reads them."""
        text: bytes = generate_latest(self.registry)
        return text


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

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
