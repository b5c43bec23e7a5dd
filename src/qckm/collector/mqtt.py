"""The MQTT door: messages from a broker, which hears that they have arrived when they are on the disk, not before.

Devices publish to `TOPIC/messages`, or anything below it, and hear on `TOPIC/acks/NUMBER` what became of each message:
boot and sequence, four bytes each, and a byte, 0 for counted, 1 for refused for good. A device that keeps a message
until it has heard so loses nothing, whatever happens to the broker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from qckm.collector.messages import Arrival
from qckm.collector.refusals import Reason, Refused, Unavailable
from qckm.collector.service import Service
from qckm.errors import CollectorError

log = logging.getLogger("qckm.collector")
T = TypeVar("T")
ACK = struct.Struct("<IIB")
PASSWORD = "QCKM_MQTT_PASSWORD"
# Messages that the broker may send before one is acknowledged.
_MOST_INFLIGHT = 5000
# Messages in a transaction, at most, that others wait for.
_MOST_AT_ONCE = 1000
_SESSION_SECONDS = 86400


@dataclass(frozen=True)
class Broker:
    """Where a broker is, and what it is called there."""

    host: str
    port: int
    tls: bool
    user: str | None
    topic: str

    @classmethod
    def parse(cls, url: str) -> Broker:
        """Read `mqtt://user@host:1883/topic`; the password is in a variable, not where everybody sees it.

        Examples
        --------
        >>> Broker.parse("mqtts://fleet@broker/halls").port
        8883
        """
        parts = urlsplit(url)
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.password:
            raise CollectorError(
                f"Expected a broker as mqtt://user@host:1883/topic or mqtts://…, its password in {PASSWORD}."
            )
        tls = parts.scheme == "mqtts"
        user = unquote(parts.username) if parts.username else None
        topic = parts.path.strip("/") or "qckm"
        if any(sign in topic for sign in "+#$"):
            raise CollectorError(f"Expected a topic without +, # and $, got {topic!r:.80}.")
        return cls(parts.hostname, parts.port or (8883 if tls else 1883), tls, user, topic)


class Subscriber:
    """Takes what comes from a broker to a service."""

    def __init__(self, broker: Broker, service: Service, name: str) -> None:
        self.broker, self.service = broker, service
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[int, MQTTMessage]] = []
        self._line = 0  # which connection it is: numbers of messages mean something within one only
        self._wake = asyncio.Event()
        client_id = f"qckm-{socket.gethostname()}-{name}"
        # Nothing is acknowledged before we say so.
        self._client = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5, manual_ack=True)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.reconnect_delay_set(1, 30)
        if broker.user:
            self._client.username_pw_set(broker.user, os.environ.get(PASSWORD))
        if broker.tls:
            self._client.tls_set()

    def start(self) -> None:
        """Connect, and again whenever the connection is lost."""
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _SESSION_SECONDS
        properties.ReceiveMaximum = _MOST_INFLIGHT
        self._client.connect_async(self.broker.host, self.broker.port, clean_start=False, properties=properties)
        self._client.loop_start()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Take no more; what has not been acknowledged, the broker keeps."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)

    def publish(self, topic: str, payload: bytes) -> None:
        """Tell whoever listens below our topic."""
        self._client.publish(f"{self.broker.topic}/{topic}", payload, qos=1)

    # These three are called by paho's thread.

    def _on_connect(self, client: Client, _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            log.warning("the broker refuses", extra={"reason": str(reason)})
            return
        self._line += 1
        # Of several collectors, one gets each message.
        client.subscribe(f"$share/qckm/{self.broker.topic}/messages/#", qos=1)
        self._loop.call_soon_threadsafe(self._connected, 1)

    def _on_disconnect(self, *_: Any) -> None:
        self._loop.call_soon_threadsafe(self._connected, 0)

    def _on_message(self, _: Client, __: Any, message: MQTTMessage) -> None:
        self._loop.call_soon_threadsafe(self._take, self._line, message)

    def _connected(self, is_connected: int) -> None:
        self.service.metrics.mqtt.set(is_connected)
        log.info("broker", extra={"connected": bool(is_connected), "host": self.broker.host})
        if not is_connected:
            # The broker sends them again; what has been counted by then is known.
            self._waiting.clear()

    def _take(self, line: int, message: MQTTMessage) -> None:
        self._waiting.append((line, message))
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            if not self._waiting:
                self._wake.clear()
            if batch:
                try:
                    await self._count(batch)
                except Exception:
                    log.exception("a fault in what came from the broker")

    async def _count(self, batch: list[tuple[int, MQTTMessage]]) -> None:
        most = self.service.settings.most_body
        bodies = [message.payload for _, message in batch if len(message.payload) <= most]
        for _ in range(len(batch) - len(bodies)):
            self.service.note_refusal(Refused(Reason.TOO_LARGE, f"Expected at most {most} bytes."), "broker")
        # Whether a stranger has been made known meanwhile is asked of the store, too.
        checked = await _until_available(partial(self.service.check_messages, bodies, "broker"))
        results = await _until_available(partial(self.service.count, checked))
        for line, message in batch:
            if line == self._line:  # of an earlier connection, the broker sends it again under another number
                self._client.ack(message.mid, message.qos)
        told: defaultdict[int, bytearray] = defaultdict(bytearray)
        for arrival, result in zip(checked, results, strict=True):
            if isinstance(arrival, Arrival):  # nothing is said to whoever has not signed
                told[arrival.device] += ACK.pack(arrival.boot, arrival.sequence, isinstance(result, Refused))
        for device, acks in told.items():
            self._client.publish(f"{self.broker.topic}/acks/{device}", bytes(acks), qos=0)


async def _until_available(work: Callable[[], Awaitable[T]]) -> T:
    """Do something until the store is there: what is taken and not counted, the broker would hold for ever."""
    while True:
        try:
            return await work()
        except Unavailable as error:
            log.warning("unavailable", extra={"error": str(error)})
            await asyncio.sleep(1)
