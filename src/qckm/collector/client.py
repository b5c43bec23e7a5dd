"""The sender's side, without a server's libraries: requests that are tried again, and an outbox for when all fails.

An outbox is a folder. A sketch is put there before it is sent, and removed when the collector has said that it is on
its disk. What is left is sent by the next run, whichever part that one is about.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qckm.common.atomic import write_atomically
from qckm.common.text import public_name, without_secrets
from qckm.errors import CollectorError

TOKEN = "QCKM_TOKEN"
_SECONDS = 60
# Answers after which the same request may succeed: with another token, or later.
_OTHER_TOKEN = (401, 403)
_LATER = (408, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 30.0
# Of an answer: a sketch that is larger does not come from a collector.
_MOST_BYTES = 1 << 30


class Undelivered(CollectorError):
    """A collector that did not answer, or not to this token: what was sent is to be sent again."""


@dataclass(frozen=True)
class Client:
    """A collector, as its senders and readers see it."""

    url: str  # https://collector.example:8321
    token: str | None = None  # by default that of the environment, QCKM_TOKEN
    tries: int = 6  # before a request is given up, with longer and longer waits between

    def put_part(self, part: str, data: bytes, replace: bool = False, at: str | None = None) -> dict[str, Any]:
        """Send a sketch; return what the collector said when it was on its disk."""
        query = urllib.parse.urlencode(({"replace": "true"} if replace else {}) | ({"at": at} if at else {}))
        return self._send("PUT", f"/v1/parts/{urllib.parse.quote(part)}" + (f"?{query}" if query else ""), data)

    def post_messages(self, data: bytes) -> dict[str, Any]:
        """Send messages of devices that follow one another."""
        return self._send("POST", "/v1/messages", data)

    def _send(self, method: str, path: str, data: bytes) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(fetch(self.url.rstrip("/") + path, method, data, self.token, self.tries))
        return told


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the token would go along."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def fetch(url: str, method: str = "GET", data: bytes | None = None, token: str | None = None, tries: int = 6) -> bytes:
    """Make a request until it is answered; raise `CollectorError` with the collector's words if it is refused."""
    secret = (token or os.environ.get(TOKEN) or "").strip()  # of a file, with the end of its line
    if not secret:
        raise Undelivered(f"Expected a token for {_place(url)}: set {TOKEN} to what `qckm collect token create` said.")
    if not (secret.isascii() and secret.isprintable()):  # an error of the library that sends it would show it
        raise Undelivered(f"Expected a token for {_place(url)} of ASCII characters: {TOKEN} has others.")
    return _ask(url, method, data, {"Authorization": f"Bearer {secret}"}, tries)


def post(url: str, data: bytes) -> None:
    """Tell somebody something, as JSON, three times if need be; whoever it is has not asked for a token."""
    _ask(url, "POST", data, {"Content-Type": "application/json"}, 3)


def _ask(url: str, method: str, data: bytes | None, headers: dict[str, str], tries: int) -> bytes:
    place, asked_for = _place(url), 0.0  # how long the server wants us to wait
    for attempt in range(tries):
        if attempt:
            # Twice as long each time, and not all senders at once.
            time.sleep(min(_LONGEST_WAIT, max(asked_for, 0.125 * 2**attempt) * random.uniform(1, 2)))
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                body: bytes = answer.read(_MOST_BYTES + 1)
                if len(body) > _MOST_BYTES:
                    raise CollectorError(f"{place}: expected an answer of at most {_MOST_BYTES:,} bytes, got more.")
                if answer.length:
                    raise http.client.IncompleteRead(body, answer.length)
                return body
        except urllib.error.HTTPError as error:
            words = without_secrets(_words_of(error), url)
            if error.code not in _LATER:
                raise (Undelivered if error.code in _OTHER_TOKEN else CollectorError)(f"{place}: {words}") from error
            after = error.headers.get("Retry-After", "")
            asked_for = float(after) if after.isdigit() else 0.0
        except (OSError, http.client.HTTPException) as error:  # the second: an answer that ends in the middle
            words = without_secrets(str(getattr(error, "reason", error)) or repr(error), url)
            asked_for = 0.0
    raise Undelivered(f"{place}: {words} Tried {tries} times.")


def _words_of(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(1 << 16))["error"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return f"HTTP {error.code}."


def _place(url: str) -> str:
    return urllib.parse.urlsplit(public_name(url)).netloc


@dataclass(frozen=True)
class Letter:
    """A sketch in an outbox: one file, a line of JSON and the sketch. Its name follows from what it holds."""

    path: Path
    url: str
    part: str
    replace: bool
    data: bytes

    @classmethod
    def read(cls, path: Path) -> Letter:
        """Read one that waits."""
        head, _, data = path.read_bytes().partition(b"\n")
        try:
            return cls(path, data=data, **json.loads(head))
        except (ValueError, TypeError) as error:
            raise CollectorError(f"{path}: expected a sketch that waits to be sent: remove it.") from error

    def send(self, tries: int = 6) -> dict[str, Any]:
        """Send it, and forget it when it has arrived."""
        answer = Client(self.url, tries=tries).put_part(self.part, self.data, self.replace)
        self.path.unlink(missing_ok=True)  # another run may have sent it as well
        return answer

    def set_aside(self) -> Path:
        """Keep one that was refused where it is not sent again: nothing is lost, and nothing waits behind it."""
        kept = self.path.with_suffix(".refused.qckm")
        write_atomically(kept, self.data)
        self.path.unlink(missing_ok=True)
        return kept


@dataclass(frozen=True)
class Outbox:
    """Sketches that are on their way."""

    folder: Path

    def add(self, url: str, part: str, data: bytes, replace: bool = False) -> Letter:
        """Keep a sketch until it has arrived; the folder survives whatever happens to this process."""
        if public_name(url) != url:
            raise CollectorError(
                f"{_place(url)}: expected the address of a collector without a user, a query or a fragment, which "
                f"would lie in the outbox. What is secret is the token, in {TOKEN}."
            )
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        head = json.dumps({"url": url, "part": part, "replace": replace}).encode()
        path = self.folder / f"{hashlib.sha256(head + data).hexdigest()[:16]}.letter"
        write_atomically(path, head + b"\n" + data)
        return Letter(path, url, part, replace, data)

    def waiting(self) -> list[Letter]:
        """Return what has not arrived, the oldest first."""
        found = []
        for path in self.folder.glob("*.letter"):
            with contextlib.suppress(FileNotFoundError):  # another run has just sent it
                found.append((path.stat().st_mtime_ns, path.name, Letter.read(path)))
        return [letter for _, _, letter in sorted(found, key=lambda each: each[:2])]


def default_outbox() -> Path:
    """Return where things wait if nobody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "qckm" / "outbox"
