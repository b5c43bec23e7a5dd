"""The sender's side, without a server's libraries: requests that are tried again, and an outbox for when all fails.

An outbox is a folder. A sketch is put there, under the name of its part, before it is sent, and removed when the
collector has said that it is on its disk. What is left is sent by the next run, whichever part that one is about.
"""

from __future__ import annotations

import hashlib
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
from qckm.errors import CollectorError

TOKEN = "QCKM_TOKEN"
_SECONDS = 60
# Answers after which the same request may succeed later.
_LATER = (408, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 30.0


class Unreachable(CollectorError):
    """A collector that did not answer, or not as it should: what was sent is to be sent again."""


@dataclass(frozen=True)
class Client:
    """A collector, as its senders and readers see it.

    Parameters
    ----------
    url : str
        `https://collector.example:8321`.
    token : str, optional
        By default that of the environment, QCKM_TOKEN.
    tries : int
        How often a request is made before it is given up, with longer and longer waits between.
    """

    url: str
    token: str | None = None
    tries: int = 6

    def put_part(self, part: str, data: bytes, replace: bool = False, at: str | None = None) -> dict[str, Any]:
        """Send a sketch; return what the collector said when it was on its disk."""
        query = {"replace": "true"} if replace else {}
        answer = self.request("PUT", f"/v1/parts/{urllib.parse.quote(part)}", data, query | ({"at": at} if at else {}))
        told: dict[str, Any] = json.loads(answer)
        return told

    def post_messages(self, data: bytes) -> dict[str, Any]:
        """Send messages of devices that follow one another."""
        told: dict[str, Any] = json.loads(self.request("POST", "/v1/messages", data))
        return told

    def request(self, method: str, path: str, data: bytes | None = None, query: dict[str, str] | None = None) -> bytes:
        """Make a request until it is answered; raise `CollectorError` with the collector's words if it is refused."""
        url = self.url.rstrip("/") + path + ("?" + urllib.parse.urlencode(query) if query else "")
        return fetch(url, method, data, self.token, self.tries)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the token would go along."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def fetch(url: str, method: str = "GET", data: bytes | None = None, token: str | None = None, tries: int = 6) -> bytes:
    """Make a request to a collector until it is answered."""
    secret = token or os.environ.get(TOKEN)
    if not secret:
        raise CollectorError(
            f"Expected a token for {_place(url)}: set {TOKEN} to what `qckm collect token create` said."
        )
    for attempt in range(tries):
        if attempt:
            # Twice as long each time, and not all senders at once.
            time.sleep(min(_LONGEST_WAIT, 0.25 * 2**attempt) * random.uniform(0.5, 1.0))
        request = urllib.request.Request(url, data, {"Authorization": f"Bearer {secret}"}, method=method)
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError as error:
            words = _words_of(error)
            if error.code not in _LATER:
                raise CollectorError(f"{_place(url)}: {words}") from error
        except (OSError, urllib.error.URLError) as error:
            words = str(getattr(error, "reason", error))
    raise Unreachable(f"{_place(url)}: {words} Tried {tries} times.")


def post(url: str, data: bytes) -> None:
    """Tell somebody something, as JSON, three times if need be; whoever it is has not asked for a token."""
    for attempt in range(3):
        time.sleep(attempt)
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")
        try:
            with _OPENER.open(request, timeout=10):
                return
        except OSError as error:
            words = str(getattr(error, "reason", error))
    raise Unreachable(f"{_place(url)}: {words}")


def _words_of(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(1 << 16))["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"HTTP {error.code}."


def _place(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


@dataclass(frozen=True)
class Outbox:
    """Sketches that are on their way to one collector."""

    folder: Path

    def add(self, url: str, part: str, data: bytes, replace: bool = False) -> Path:
        """Keep a sketch until it has arrived; the folder survives whatever happens to this process."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = hashlib.sha256(f"{url} {part}".encode()).hexdigest()[:16]
        sketch, note = self.folder / f"{name}.qckm", self.folder / f"{name}.json"
        write_atomically(sketch, data)
        # The note comes last: without it, nothing is sent.
        write_atomically(note, json.dumps({"url": url, "part": part, "replace": replace}).encode())
        return note

    def waiting(self) -> list[Path]:
        """Return the notes of what has not arrived, the oldest first."""
        notes = self.folder.glob("*.json") if self.folder.is_dir() else []
        return sorted(notes, key=lambda note: (note.stat().st_mtime, note.name))

    def send(self, note: Path, tries: int = 6) -> dict[str, Any]:
        """Send one, and forget it when it has arrived. One that is refused stays: nothing is lost in silence."""
        told = json.loads(note.read_bytes())
        sketch = note.with_suffix(".qckm")
        answer = Client(told["url"], tries=tries).put_part(told["part"], sketch.read_bytes(), told["replace"])
        note.unlink()
        sketch.unlink(missing_ok=True)
        return answer


def default_outbox() -> Path:
    """Return where things wait if nobody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "qckm" / "outbox"
