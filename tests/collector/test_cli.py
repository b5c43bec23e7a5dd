"""The command line of both sides: a store that is looked after, and sketches that are sent, now or later."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from collector.fleet import OPERATOR, add_devices, call, free_port, message, new_store, rows_of, running
from qckm.cli import run
from qckm.collector import senders
from qckm.collector.database import Database
from qckm.sketch import files


@pytest.fixture
def words(tmp_path, monkeypatch, capfd):
    """Run the command line in a folder with a store; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("QCKM_TOKEN", raising=False)
    new_store(tmp_path / "collector").close()
    OPERATOR.empty().save(tmp_path / "fleet.qckm")
    for seed in (1, 2):
        OPERATOR.sketch(rows_of(seed)).save(tmp_path / f"{seed}.qckm")

    def call(*words):
        code = run(list(map(str, words)))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


def token_for(folder, monkeypatch, rights=("send", "read"), parts=("*",)):
    db = Database(str(folder))
    monkeypatch.setenv("QCKM_TOKEN", senders.create_token(db, "test", rights, parts, 0))
    db.close()


def test_tokens_are_shown_once_listed_without_secrets_and_revoked(words):
    code, secret, _ = words("collect", "token", "create", "berlin", "--send", "berlin/*")
    assert code == 0
    assert secret.startswith("qckm_")
    listed = json.loads(words("collect", "token", "list", "--json")[1])["rows"]
    assert [(row["name"], row["rights"], row["revoked"]) for row in listed] == [("berlin", '["send"]', None)]
    assert secret.strip() not in words("collect", "token", "list")[1]
    assert words("collect", "token", "revoke", "berlin")[0] == 0
    code, _, said = words("collect", "token", "revoke", "berlin")
    assert (code, "token list" in said) == (1, True)
    assert words("collect", "token", "create", "nobody")[0] == 1


def test_devices_get_numbers_and_keys(words):
    code, out, _ = words("collect", "device", "add", "hall/press-{number}", "--count", 3)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "number,name,key")
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(i), f"hall/press-{i}"] for i in range(3)]
    assert len({line.split(",")[2] for line in lines[1:]}) == 3
    assert words("collect", "device", "add", "own", "--key", "00" * 16, "--number", 77)[1].endswith(
        f"77,own,{'00' * 16}\n"
    )
    assert words("collect", "device", "add", "hall/press-1")[0] == 1
    assert words("collect", "device", "add", "secret", "-o", "keys.csv")[0] == 0
    assert Path("keys.csv").stat().st_mode & 0o77 == 0
    assert words("collect", "device", "revoke", 77)[0] == 0
    listed = json.loads(words("collect", "device", "list", "--json")[1])["rows"]
    assert [row["number"] for row in listed if row["revoked"]] == [77]


def test_a_store_is_checked_backed_up_and_restored(words, tmp_path, monkeypatch):
    db = Database("collector")
    add_devices(db, "press")
    db.close()
    with running(tmp_path / "collector") as url:
        token_for("collector", monkeypatch)
        assert words("send", "1.qckm", "--to", url, "--part", "berlin/a")[0] == 0
        assert words("collect", "backup", "copy.sqlite")[0] == 0  # while it runs
    assert words("collect", "check")[0] == 0
    assert words("collect", "backup", "copy.sqlite")[0] != 0  # never over another
    assert words("collect", "restore", "copy.sqlite", "--store", "second")[0] == 0
    assert words("collect", "restore", "copy.sqlite", "--store", "second")[0] == 1
    for store in ("copy.sqlite", "second"):
        assert words("collect", "check", "--store", store)[0] == 0
        with running(store) as url:
            words("merge", f"{url}/v1/sketch", "-o", "out.qckm")
        assert files.load("out.qckm") == files.load("1.qckm")
        (tmp_path / "out.qckm").unlink()
    db = Database("second")
    with db.writing():
        db.execute("UPDATE part_sums SET rows = 1")
    db.close()
    assert words("collect", "check", "--store", "second")[0] == 1
    assert words("collect", "check", "--store", "nowhere")[0] == 1


def test_data_are_sketched_and_sent_in_one_go(words, tmp_path, monkeypatch):
    np.save("rows.npy", rows_of(3))
    with running(tmp_path / "collector") as url:
        token_for("collector", monkeypatch)
        given = ("sketch", "rows.npy", "--operator", "fleet.qckm", "--send", url, "--part", "berlin/2025-11-16")
        code, out, said = words(*given)
        assert (code, out, "accepted, 100 rows" in said) == (0, "", True)
        assert "repeated" in words(*given)[2]
        code, out, _ = words("info", f"{url}/v1/sketch?group=berlin", "--json")
        assert json.loads(out)["rows"] == 100
    assert words("sketch", "rows.npy", "--operator", "fleet.qckm", "--send", url)[0] == 2


def test_a_model_and_a_sketch_are_read_from_a_url_as_from_a_file(words, tmp_path, monkeypatch):
    np.save("rows.npy", rows_of(3, 2000))
    with running(tmp_path / "collector") as url:
        token_for("collector", monkeypatch)
        given = ("sketch", "rows.npy", "--operator", "fleet.qckm", "--send", url, "--part", "berlin/2025-11-16")
        assert words(*given)[0] == 0
        assert words("decode", f"{url}/v1/sketch", "-k", 3, "-o", "model.json")[0] == 0
        model = f"{url}/v1/model?k=3"
        assert words("predict", "rows.npy", "-m", model, "-o", "labels.csv")[0] == 0
        assert words("predict", "rows.npy", "-m", "model.json", "-o", "same.csv")[0] == 0
        assert (tmp_path / "labels.csv").read_text() == (tmp_path / "same.csv").read_text()
        assert json.loads(words("info", model, "--json")[1])["clusters"] == 3
        assert words("report", model, "-o", "report.html")[0] == 0
        assert words("predict", "rows.npy", "-m", f"{url}/v1/model?k=0", "-o", "none.csv")[0] == 1


def test_parts_and_what_devices_sent_are_withdrawn(words, tmp_path, monkeypatch):
    db = Database("collector")
    devices = add_devices(db, "lonely", "hall/press-1", "hall/press-2")
    db.close()
    with running(tmp_path / "collector") as url:
        token_for("collector", monkeypatch, ("send", "read", "relay"))
        words("send", "1.qckm", "--to", url, "--part", "berlin/a")
        sent = b"".join(message(device, 0, rows_of(7)) for device in devices)
        call("POST", f"{url}/v1/messages", os.environ["QCKM_TOKEN"], sent)
    assert words("collect", "withdraw", "berlin/a")[2] == "100 rows taken out\n"
    assert words("collect", "withdraw", "berlin/a")[0] == 1
    assert json.loads(words("collect", "withdraw", "--device", 0, "--json")[1])["rows"] == 100
    assert words("collect", "withdraw", "--device", 1)[0] == 1
    code, _, said = words("collect", "withdraw", "--group", "hall", "--to", int(time.time()) // 3600 * 3600 + 60)
    assert (code, "only touched" in said, "0 rows" in said) == (0, True, True)
    assert json.loads(words("collect", "withdraw", "--group", "hall", "--json")[1])["rows"] == 200
    assert words("collect", "withdraw")[0] == words("collect", "withdraw", "a", "--device", 1)[0] == 2
    assert words("collect", "check")[0] == 0


def test_a_url_without_a_token_says_what_to_do(words):
    code, _, said = words("info", "http://127.0.0.1:9/v1/sketch")
    assert (code, "QCKM_TOKEN" in said) == (1, True)


def test_a_file_of_settings_knows_only_settings(words, tmp_path):
    (tmp_path / "wrong.toml").write_text("colour = 'red'\n")
    code, _, said = words("collect", "--config", "wrong.toml")
    assert (code, "colour" in said) == (1, True)
    (tmp_path / "collect.toml").write_text(f"group-depth = 2\nport = {free_port()}\n")
    code, _, said = words("collect", "--config", "collect.toml")
    assert (code, "group_depth 1" in said) == (1, True)
