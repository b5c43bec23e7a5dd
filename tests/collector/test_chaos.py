"""Collectors, PostgreSQL and brokers are killed while a fleet sends: nothing is lost, nothing counts twice.

QCKM_CHAOS scales it: 1 is the whole of it, as `make test-collector` runs it.
"""

import contextlib
import os
import random
import shutil
import subprocess
import time

import pytest

from collector.chaos import Chaos, Collector
from collector.peers import Mosquitto, Postgres, stopping
from collector.recording import record
from qckm.collector.settings import DAY, HOUR

pytestmark = pytest.mark.timeout(1200)
peer = pytest.mark.peer  # the others are a part of what CI runs
SIZE = float(os.environ.get("QCKM_CHAOS", "1"))
# How far a collector's clock leaps after a restart, and back, several times a second: mostly not at all.
SKEWS = [0, 0, 0, 0, HOUR, -HOUR, -2 * DAY, 2 * DAY, 400 * DAY]


def kill_and_start(collector, rng, skewed=True):
    """Let it work for a moment, kill it, start it with a clock that leaps."""
    assert collector.wait(), collector.log.read_text()[-2000:]
    time.sleep(rng.uniform(0.05, 0.5))
    collector.kill()
    collector.start(rng.choice(SKEWS) if skewed else 0)


def finish(chaos, collectors):
    for collector in collectors:
        assert collector.wait(), collector.log.read_text()[-2000:]
    for collector in collectors:
        collector.kill()
        collector.start()
        assert collector.wait()
    chaos.verify(collectors[0].url)
    for collector in collectors:
        collector.stop()
    kills = sum(collector.kills for collector in collectors)
    return f"{kills} kill -9 of collectors, clocks that leap by up to 400 days"


def test_a_few_kills(tmp_path):
    rng = random.Random(2)
    chaos = Chaos(str(tmp_path), 30, 20, 4, 2)
    with Collector(str(tmp_path)) as collector:
        chaos.run([collector.url], 3, lambda _: kill_and_start(collector, rng), http_workers=2)
        finish(chaos, [collector])


@peer
def test_sqlite_with_a_broker_and_a_hundred_kills(tmp_path):
    rng = random.Random(0)
    chaos = Chaos(str(tmp_path), int(1000 * SIZE), 100, int(40 * SIZE), 5)
    restarts = 0
    with stopping(Mosquitto()) as broker, Collector(str(tmp_path), mqtt=broker.url) as collector:

        def worst(number):
            nonlocal restarts
            kill_and_start(collector, rng)
            if number % 10 == 5:
                broker.stop(keep=True)
                broker.start()
                restarts += 1

        chaos.run([collector.url], int(100 * SIZE), worst, broker_port=broker.port)
        kills = finish(chaos, [collector])
    record("SQLite, HTTP and MQTT", f"{kills}, {restarts} restarts of the broker; {chaos.words()}")


@peer
def test_two_collectors_over_postgresql_that_is_killed_too():
    rng = random.Random(1)
    with stopping(Postgres()) as postgres, stopping(Mosquitto()) as broker:
        chaos = Chaos(postgres.url, int(1000 * SIZE), 100, int(40 * SIZE), 5)
        kills = restarts = 0
        with (
            Collector(postgres.url, mqtt=broker.url) as one,
            Collector(postgres.url, mqtt=broker.url) as other,
        ):
            collectors = [one, other]

            def worst(number):
                nonlocal kills, restarts
                if number % 6 == 5:
                    time.sleep(rng.uniform(0.05, 0.5))
                    postgres.kill()
                    kills += 1
                    time.sleep(rng.uniform(0, 1))
                    postgres.start()
                else:
                    kill_and_start(collectors[number % 2], rng)
                if number % 12 == 6:
                    broker.stop(keep=True)
                    broker.start()
                    restarts += 1

            urls = [collector.url for collector in collectors]
            chaos.run(urls, int(120 * SIZE), worst, http_workers=2, broker_port=broker.port)
            words = finish(chaos, collectors)
    words += f", {kills} of PostgreSQL, {restarts} restarts of the broker"
    record("Two collectors, one PostgreSQL, HTTP and MQTT", f"{words}; {chaos.words()}")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few megabytes, where we may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("we may not mount a file system here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@peer
def test_a_full_disk_stops_the_collector_for_as_long_as_it_is_full(small_disk):
    chaos = Chaos(str(small_disk), int(1000 * SIZE), 20, int(40 * SIZE), 2)
    filler = small_disk / "filler"
    fulls = 0

    def worst(number):
        nonlocal fulls
        with contextlib.suppress(OSError), filler.open("wb") as file:  # until there is no room, whoever else writes
            while True:
                file.write(bytes(4096))
                file.flush()
        before = chaos.told.failed_requests
        until = time.monotonic() + 20
        while chaos.told.failed_requests == before and time.monotonic() < until:
            time.sleep(0.05)
        fulls += chaos.told.failed_requests > before
        filler.unlink()
        subprocess.run(["mount", "-o", f"remount,size={6 + number}m", str(small_disk)], check=True)

    with Collector(str(small_disk)) as collector:
        assert collector.wait()
        chaos.run([collector.url], 5, worst, http_workers=2)
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        finish(chaos, [collector])
    record("A full disk", f"full {fulls} times; {chaos.words()}")
    assert fulls
