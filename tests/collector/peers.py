"""PostgreSQL and mosquitto from Debian's packages, started and stopped by the tests, on loopback."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from collector.fleet import free_port


def _wait_for_port(port: int, process: subprocess.Popen, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.poll() is None, f"{process.args[0]} ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError(f"{process.args[0]} does not listen")


class Postgres:
    """A cluster of its own in a folder of its own, owned by whoever PostgreSQL may run as."""

    def __init__(self) -> None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            pytest.skip("PostgreSQL is not installed: `make test-collector` installs it where it may")
        self.bin = Path(found[-1])
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.folder = Path(tempfile.mkdtemp(prefix="qckm-postgres-"))
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        options = ["--auth=trust", "--username=test", "--no-sync", "-D", str(self.folder / "data")]
        self._as_user("initdb", *options).check_returncode()
        self.process: subprocess.Popen | None = None
        self.start()
        self._as_user("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "test", "fleet").check_returncode()

    @property
    def url(self) -> str:
        return f"postgresql://test@127.0.0.1:{self.port}/fleet"

    def _as_user(self, name: str, *words: str) -> subprocess.CompletedProcess:
        user = {"user": self.user} if os.geteuid() == 0 else {}
        return subprocess.run([self.bin / name, *words], capture_output=True, cwd=self.folder, check=False, **user)

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "40",
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        user = {"user": self.user} if os.geteuid() == 0 else {}
        self.process = subprocess.Popen(
            [str(self.bin / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *words],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **user,
        )
        _wait_for_port(self.port, self.process)
        until = time.monotonic() + 20
        while self._as_user("pg_isready", "-h", "127.0.0.1", "-p", str(self.port)).returncode:
            assert time.monotonic() < until, "PostgreSQL does not get ready"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the postmaster and all its children, each of which leads a group of its own."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        children = [int(word) for word in task.read_text().split()]
        self.process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.wait()
        while any(Path(f"/proc/{child}").exists() for child in children):
            time.sleep(0.01)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Mosquitto:
    """A broker that keeps what it has over a restart."""

    def __init__(self) -> None:
        self.path = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        if self.path is None:
            pytest.skip("mosquitto is not installed: `make test-collector` installs it where it may")
        self.folder = Path(tempfile.mkdtemp(prefix="qckm-mosquitto-"))
        self.port = free_port()
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {self.folder}/\nmax_inflight_messages 5000\nmax_queued_messages 0\n"
            f"{'user root' if os.geteuid() == 0 else ''}\n"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}/fleet"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.path, "-c", str(self.folder / "mosquitto.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait_for_port(self.port, self.process)

    def stop(self, keep: bool = False) -> None:
        self.process.terminate()
        self.process.wait(20)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def stopping(peer):
    try:
        yield peer
    finally:
        peer.stop()
