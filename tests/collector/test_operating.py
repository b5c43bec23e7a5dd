"""A collector as a process that somebody operates: its settings, its log, its certificate, its end."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from collector.fleet import OPERATOR, add_devices, call, free_port, message, new_store, rows_of, running
from qckm.cli import run
from qckm.collector import client, senders, service, sums, upkeep
from qckm.collector.client import Client, Undelivered
from qckm.collector.windows import Asked
from qckm.sketch import SketchOperator, files

EXAMPLES = Path(__file__).parents[2] / "examples" / "collector"


@contextlib.contextmanager
def process(folder, *words, **environment):
    """Run `qckm collect` in a folder; yield the process, its URL, and where its words go."""
    port, said = free_port(), folder / "said"
    with said.open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "qckm", "collect", "--port", str(port), *map(str, words)],
            stderr=log,
            cwd=folder,
            env={**os.environ, **environment},
        )
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while True:
            assert started.poll() is None, said.read_text()
            assert time.monotonic() < until, said.read_text()
            with contextlib.suppress(OSError):
                if call("GET", f"{url}/readyz")[0] == 200:
                    break
            time.sleep(0.05)
        yield started, url, said
    finally:
        if started.poll() is None:
            started.kill()
            started.wait()


def test_at_sigterm_it_writes_what_it_has_taken_and_ends(tmp_path):
    with new_store(tmp_path / "collector") as db:
        devices = add_devices(db, *(f"hall/press-{i}" for i in range(8)))
        token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    acknowledged, stop = [], threading.Event()

    def send(device):
        sequence = 0
        while not stop.is_set():
            rows = rows_of(1000 * device.number + sequence, 5)
            try:
                status, told = call("POST", f"{url}/v1/messages", token, message(device, sequence, rows))
            except (OSError, http.client.HTTPException):
                return
            if status == 200:
                assert told["accepted"] == 1
                acknowledged.append(rows)
                sequence += 1

    with process(tmp_path) as (started, url, said):
        watching = threading.Thread(target=lambda: call("GET", f"{url}/v1/events", token))  # a page that is left open
        threads = [watching, *(threading.Thread(target=send, args=(device,)) for device in devices)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        began = time.monotonic()
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
        assert time.monotonic() - began < 10
        stop.set()
        for thread in threads:
            thread.join()
        assert '"event": "stopped"' in said.read_text()
    assert len(acknowledged) > 8
    with new_store(tmp_path / "collector") as db:
        found = sums.sketch_of(db, OPERATOR, Asked())
        assert list(upkeep.check(db)) == []
    expected = sum((OPERATOR.pool(OPERATOR.encode(rows)) for rows in acknowledged), OPERATOR.empty())
    assert files.dumps(found) == files.dumps(expected)


def test_its_log_is_json_and_holds_no_secret(tmp_path):
    with new_store(tmp_path / "collector") as db:
        (device,) = add_devices(db, "hall/press")
        token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    hook = f"http://me:5ecre7@127.0.0.1:{free_port()}/hook?key=5ecre7"
    with process(tmp_path, "--webhook", hook) as (started, url, said):
        call("POST", f"{url}/v1/messages", token, message(device, 0, rows_of(0)))
        call("POST", f"{url}/v1/messages", token, message(device, 0, rows_of(0))[:-1] + b"x")
        call("PUT", f"{url}/v1/parts/berlin/1", token, b"no sketch")
        call("GET", f"{url}/v1/sketch?from=5ecre7", token + "5ecre7")
        call("GET", f"{url}/v1/sketch?group={token}", token)
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
        lines = said.read_text().splitlines()
    page, *logged = lines
    assert page.startswith("The page: ")
    assert {json.loads(line)["event"] for line in logged} >= {"listening", "stopped"}
    for secret in (token, device.key.hex(), "5ecre7"):
        assert secret not in "\n".join(lines)


def test_flags_come_before_variables_and_variables_before_a_file(tmp_path):
    OPERATOR.empty().save(tmp_path / "fleet.qckm")
    (tmp_path / "collect.toml").write_text(
        'store = "from-file"\ngroup-depth = 2\nclusters = 7\nkeep-hours = 20\noperator-file = "fleet.qckm"\n'
    )
    variables = {"QCKM_COLLECT_CLUSTERS": "4", "QCKM_COLLECT_KEEP_HOURS": "30"}
    with process(tmp_path, "--config", "collect.toml", "--keep-hours", 40, **variables) as (started, url, said):
        token = re.search(r"#(qckm_\S+)", said.read_text())[1]
        sketch = files.dumps(OPERATOR.sketch(rows_of(0, 2000)))
        assert call("PUT", f"{url}/v1/parts/berlin/hall/1", token, sketch)[1]["group"] == "berlin/hall"
        assert call("GET", f"{url}/v1/model", token)[1]["n_clusters"] == 4
        started.send_signal(signal.SIGTERM)
        started.wait(20)
    assert (tmp_path / "from-file" / "collector.sqlite").exists()


def test_the_operator_has_one_name_everywhere(tmp_path, monkeypatch, capfd):
    """As a flag, in a file and as a variable; another one than that of the store is refused, so it has been read."""
    new_store(tmp_path / "store").close()
    SketchOperator.draw(n_features=3, n_frequencies=40, scale=2.0, random_state=1).empty().save(tmp_path / "other.qckm")
    (tmp_path / "collect.toml").write_text('operator = "other.qckm"\n')
    monkeypatch.chdir(tmp_path)
    words = ["collect", "--store", "store", "--port", str(free_port())]
    for more in (["--operator", "other.qckm"], ["--config", "collect.toml"], []):
        if not more:
            monkeypatch.setenv("QCKM_COLLECT_OPERATOR", "other.qckm")
        assert run([*words, *more]) == 1, more
        assert "Use another store" in capfd.readouterr()[1]


@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        ("--port PORT", 1, "another --port"),
        ("--host 192.0.2.1", 1, "another --port or --host"),
        ("--certificate nowhere.pem --private-key key.pem", 1, "nowhere.pem"),
        ("--certificate key.pem --private-key key.pem", 1, "PEM files, in key.pem"),
        ("--certificate key.pem", 2, "--private-key"),
        ("--clusters -3", 2, "clusters from 0 to 1,000"),
        ("--messages-per-second 0", 2, "messages-per-second from"),
        ("--keep-hours 3", 2, "while late messages are taken"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_is_made(words, code, remedy, tmp_path, monkeypatch, capfd):
    OPERATOR.empty().save(tmp_path / "fleet.qckm")
    (tmp_path / "key.pem").write_text("no key")
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = ["--port", str(free_port()), *words.replace("PORT", port).split()]
        assert run(["collect", "--operator", "fleet.qckm", *given]) == code
    said = capfd.readouterr()[1]
    assert remedy in said
    assert "qckm_" not in said
    assert not (tmp_path / "collector").exists()


def test_without_an_operator_no_empty_store_is_left(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(["collect", "--port", str(free_port())]) == 1
    assert "--operator" in capfd.readouterr()[1]
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_not_there_is_waited_for_and_told(tmp_path, monkeypatch, capfd):
    pytest.importorskip("psycopg")
    monkeypatch.setattr(service, "_START_SECONDS", 1)
    OPERATOR.empty().save(tmp_path / "fleet.qckm")
    store = f"postgresql://me:5ecre7@127.0.0.1:{free_port()}/fleet"
    words = ["--operator", str(tmp_path / "fleet.qckm"), "--port", str(free_port())]
    assert run(["collect", "--store", store, *words]) == 1
    waited, told = capfd.readouterr()[1].splitlines()
    assert json.loads(waited)["event"] == "waiting for the database"
    assert "start the database" in told
    assert "5ecre7" not in waited + told


@pytest.fixture
def certificate(tmp_path):
    """A certificate of 127.0.0.1, signed by itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    paths = [str(tmp_path / name) for name in ("certificate.pem", "key.pem")]
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=collector -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*words.split(), "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def test_tls_with_a_certificate_that_the_client_must_trust(tmp_path, certificate, monkeypatch):
    with new_store(tmp_path / "store") as db:
        token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    monkeypatch.setattr(client, "_LONGEST_WAIT", 0.01)
    with running(tmp_path / "store", certificate=certificate[0], key=certificate[1]) as url:
        assert url.startswith("https://")
        with pytest.raises(Undelivered, match="certificate verify failed"):
            client.fetch(f"{url}/v1/operator", token=token)
        monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
        sketch = OPERATOR.sketch(rows_of(0))
        assert Client(url, token).put_part("berlin/1", files.dumps(sketch))["outcome"] == "accepted"
        assert files.loads(client.fetch(f"{url}/v1/sketch", token=token)) == sketch
        with pytest.raises(Undelivered):
            client.fetch(url.replace("https", "http"), token=token)


def test_it_is_not_ready_while_nothing_can_be_written(tmp_path):
    with new_store(tmp_path), running(tmp_path) as url:
        assert call("GET", f"{url}/readyz")[0] == 200
        with new_store(tmp_path) as other, other.writing():
            other.execute("DROP TABLE jobs")
        time.sleep(1.1)
        assert call("GET", f"{url}/readyz")[0] == 503
        assert call("GET", f"{url}/healthz")[0] == 200


def test_the_files_for_operating_it_name_settings_that_there_are(tmp_path):
    OPERATOR.empty().save(tmp_path / "fleet.qckm")
    text = (EXAMPLES / "collect.toml").read_text()
    own = re.sub(r"(?m)^(store|host|certificate|private-key) = .*$", "", text).replace("# webhook", "webhook")
    (tmp_path / "collect.toml").write_text(own)
    with process(tmp_path, "--config", "collect.toml", "--operator", "fleet.qckm") as (started, _, _):
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
    unit = (EXAMPLES / "qckm-collect.service").read_text()
    if shutil.which("systemd-analyze"):
        path = tmp_path / "qckm-collect.service"
        path.write_text(unit.replace("/opt/qckm/bin/qckm", sys.executable))
        done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
        assert "qckm-collect.service" not in done.stderr, done.stderr
