"""A collector behind HTTP: who may do what, what is refused, and that every acknowledgement is in the store."""

import contextlib
import io
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from collector.fleet import OPERATOR, add_devices, call, message, new_store, rows_of, running
from qckm.collector import senders
from qckm.collector.database import Database
from qckm.collector.settings import Settings
from qckm.privacy import LocalReporter
from qckm.sensor import signed, wire
from qckm.sketch import files

SETTINGS = Settings(most_body=200_000, most_part=50_000, failures_per_second=50.0, clusters=3, rho=0.5)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def tokens(place):
    db = new_store(place, SETTINGS)
    made = {
        "shop": senders.create_token(db, "berlin", ["send"], ["berlin/*"], 0),
        "head": senders.create_token(db, "head", ["send"], ["*"], 0),
        "gateway": senders.create_token(db, "gateway", ["relay"], [], 0),
        "reader": senders.create_token(db, "reader", ["read"], [], 0),
        "admin": senders.create_token(db, "admin", ["admin", "read"], [], 0),
        "revoked": senders.create_token(db, "revoked", ["read"], [], 0),
    }
    senders.revoke_token(db, "revoked", 1)
    db.close()
    return made


@pytest.fixture(scope="module")
def devices(place, tokens):
    db = Database(str(place))
    made = add_devices(db, *(f"hall/press-{i}" for i in range(5)), "lonely")
    db.close()
    return made


@pytest.fixture(scope="module")
def url(place, tokens, devices):
    with running(place, SETTINGS) as url:
        yield url


def total(url, tokens, query=""):
    status, data = call("GET", f"{url}/v1/sketch{query}", tokens["reader"])
    assert status == 200
    return files.loads(data)


def test_a_part_goes_in_and_comes_out(url, tokens):
    sketch = OPERATOR.sketch(rows_of(1))
    target = f"{url}/v1/parts/berlin/2025-11-15"
    status, told = call("PUT", target, tokens["shop"], files.dumps(sketch))
    assert (status, told["outcome"], told["group"], told["window"]) == (201, "accepted", "berlin", "2025-11-15")
    assert call("PUT", target, tokens["shop"], files.dumps(sketch))[1]["outcome"] == "repeated"
    assert files.dumps(total(url, tokens, "?group=berlin")) == files.dumps(sketch)
    other = files.dumps(OPERATOR.sketch(rows_of(2)))
    assert call("PUT", target, tokens["shop"], other)[0] == 409
    assert call("PUT", target + "?replace=true", tokens["shop"], other)[1]["outcome"] == "replaced"
    assert call("DELETE", target, tokens["shop"])[1] == {
        "part": "berlin/2025-11-15",
        "outcome": "withdrawn",
        "rows": 100,
    }
    assert call("PUT", target, tokens["shop"], other)[0] == 410
    assert call("GET", f"{url}/v1/parts", tokens["reader"])[1][0]["state"] == "withdrawn"


def test_messages_are_counted_and_the_wrong_ones_named(url, tokens, devices):
    before = total(url, tokens, "?group=hall")
    good = [message(devices[0], i, rows_of(i)) for i in range(3)]
    forged = bytearray(message(devices[1], 0, rows_of(0)))
    forged[40] ^= 1
    stranger = message(senders.Device(999, "x", bytes(16)), 0, rows_of(0))
    told = call("POST", f"{url}/v1/messages", tokens["gateway"], b"".join([*good, good[0], bytes(forged), stranger]))[1]
    assert (told["accepted"], told["repeated"], told["total"]) == (3, 1, 6)
    assert [(each["at"], each["reason"]) for each in told["refused"]] == [(4, "wrong MAC"), (5, "unknown device")]
    rows = np.concatenate([rows_of(i) for i in range(3)])
    assert total(url, tokens, "?group=hall") == before + OPERATOR.pool(OPERATOR.encode(rows))


WRONG = {
    "damaged": lambda d: b"Qk\x02 but nothing more",
    "cut short": lambda d: message(d, 9, rows_of(0))[:-1],
    "unsigned": lambda d: wire.dumps(wire.bits_message(OPERATOR, OPERATOR.encode(rows_of(0)), d.number, 9)),
    "another operator": lambda d: signed.dumps(wire.Message(wire.BITS, b"12345678", d.number, 9, 0, 0, b"", 1), d.key),
    "more bits than rows": lambda d: signed.dumps(
        wire.Message(wire.BITS, OPERATOR.short_fingerprint, d.number, 9, 2, 0, b"12", 1), d.key
    ),
    "a counter above its rows": lambda d: signed.dumps(
        wire.Message(wire.COUNTERS_16, OPERATOR.short_fingerprint, d.number, 9, 2, 0, b"\xff" * 160, 1), d.key
    ),
    "a length of gigabytes": lambda d: message(d, 9, rows_of(0))[:28] + b"\xff" * 4 + bytes(100),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_message_changes_nothing_and_is_told(url, tokens, devices, name):
    before = files.dumps(total(url, tokens))
    status, told = call("POST", f"{url}/v1/messages", tokens["gateway"], WRONG[name](devices[2]))
    assert (status, told["accepted"], len(told["refused"])) == (200, 0, 1)
    assert files.dumps(total(url, tokens)) == before


@pytest.mark.parametrize(
    ("method", "path", "who", "status"),
    [
        ("GET", "/v1/sketch", None, 401),
        ("GET", "/v1/sketch", "revoked", 401),
        ("GET", "/v1/sketch", "shop", 403),
        ("GET", "/v1/sketch", "gateway", 403),
        ("POST", "/v1/messages", "reader", 403),
        ("PUT", "/v1/parts/paris/2025-11-16", "shop", 403),
        ("PUT", "/v1/parts/berlin/2025-11-16", "reader", 403),
        ("DELETE", "/v1/parts/berlin/2025-11-16", "gateway", 403),
        ("POST", "/v1/withdrawals", "reader", 403),
        ("GET", "/metrics", "gateway", 403),
        ("PUT", "/v1/parts/berlin/..", "shop", 400),
        ("PUT", "/v1/parts/berlin/2025-11-16", "shop", 400),
        ("GET", "/v1/sketch?from=yesterday", "reader", 400),
        ("GET", "/v1/sketch?from=2026-01-02&to=2026-01-01", "reader", 400),
        ("GET", "/v1/sketch?from=999999999999999", "reader", 400),
        ("PUT", "/v1/parts/berlin/x?at=9007199254740993", "shop", 400),
        ("GET", "/v1/model?k=0", "reader", 400),
        ("GET", "/v1/model?k=3&group=nowhere", "reader", 404),
        ("GET", "/v1/windows?format=pickle", "reader", 400),
        ("GET", "/v1/nothing", "reader", 404),
    ],
)
def test_what_one_may_not_or_cannot_have(url, tokens, method, path, who, status):
    given = b"" if method in ("PUT", "POST") else None
    assert call(method, url + path, tokens.get(who), given)[0] == status


@pytest.mark.parametrize("token", ["", "x", "qckm_", "qckm__", "qckm_00000000_" + "0" * 40, "qckm_é_x", "Qckm" * 5000])
def test_invented_tokens_are_refused(url, token):
    try:
        status = call("GET", f"{url}/v1/sketch", token.encode().decode("latin-1"))[0]
    except (ValueError, OSError):  # a header that no client sends, or a server that hangs up on it
        return
    assert status in (400, 401, 431)


def test_what_is_too_large_is_refused_whether_its_length_is_told_or_not(url, tokens):
    assert call("POST", f"{url}/v1/messages", tokens["gateway"], bytes(200_001))[0] == 413
    assert call("PUT", f"{url}/v1/parts/berlin/x", tokens["shop"], bytes(50_001))[0] == 413
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), 10) as line:
        head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens['gateway']}\r\n"
        line.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        answer = b""
        line.settimeout(10)
        try:
            for _ in range(20):
                line.sendall(b"4000\r\n" + bytes(0x4000) + b"\r\n")
        except OSError:
            pass
        with io.BytesIO() as kept:
            while b"\r\n" not in kept.getvalue():
                chunk = line.recv(1000)
                if not chunk:
                    break
                kept.write(chunk)
            answer = kept.getvalue()
    assert b" 413 " in answer.split(b"\r\n")[0]


def test_who_sends_too_much_hears_it_though_it_takes_a_while_to_send(url, tokens):
    """Larger than what fits between the two: a server that hangs up is taken for one that is down, and asked again."""
    for _ in range(5):
        status, told = call("PUT", f"{url}/v1/parts/berlin/x", tokens["shop"], bytes(20 << 20))
        assert (status, told["reason"]) == (413, "too large")


def test_sketches_that_cannot_be_added_are_refused(url, tokens):
    other = qckm.SketchOperator.draw(n_features=3, n_frequencies=40, scale=1.0, random_state=9)
    real = OPERATOR.sketch(rows_of(0), sample_weight=np.full(100, 0.5))
    damaged = bytearray(files.dumps(OPERATOR.sketch(rows_of(0))))
    damaged[-40] ^= 1
    for data, reason in (
        (files.dumps(other.sketch(rows_of(0))), "another operator"),
        (files.dumps(real), "contradiction"),
        (bytes(damaged), "damaged"),
        (b"GIF89a", "damaged"),
    ):
        status, told = call("PUT", f"{url}/v1/parts/berlin/wrong", tokens["shop"], data)
        assert (status, told["reason"]) == (400, reason)


def test_another_operator_is_refused_before_it_is_made(url, tokens, monkeypatch):
    """A few bytes may be the recipe of 128 MB of frequencies."""
    drawn = qckm.SketchOperator.draw(n_features=64, n_frequencies=4096, scale=1.0, law="integer-gaussian")
    data = files.dumps(drawn.empty())
    assert len(data) < 200
    del drawn  # files of operators that are held are not made anew
    monkeypatch.setattr("qckm.operator.codes.Recipe.frequencies", lambda self: 1 // 0)
    status, told = call("PUT", f"{url}/v1/parts/berlin/large", tokens["shop"], data)
    assert (status, told["reason"]) == (400, "another operator")


def test_a_sum_of_parts_needs_the_right_to_send_any(url, tokens):
    """Else whoever may send berlin/* could take the names of others' parts, and have those refused."""
    both = OPERATOR.sketch(rows_of(40), part="berlin/x") + OPERATOR.sketch(rows_of(41), part="paris/x")
    status, told = call("PUT", f"{url}/v1/parts/berlin/sum", tokens["shop"], files.dumps(both))
    assert (status, told["reason"], "any part" in told["error"]) == (403, "no right", True)
    own = files.dumps(OPERATOR.sketch(rows_of(40), part="berlin/x"))
    assert call("PUT", f"{url}/v1/parts/berlin/y", tokens["shop"], own)[0] == 403  # it says that it is another
    paris = files.dumps(OPERATOR.sketch(rows_of(41), part="paris/x"))
    assert call("PUT", f"{url}/v1/parts/paris/x", tokens["head"], paris)[0] == 201
    status, told = call("PUT", f"{url}/v1/parts/all/sum", tokens["head"], files.dumps(both))
    assert (status, "counted with paris/x" in told["error"]) == (409, True)
    assert call("PUT", f"{url}/v1/parts/berlin/x", tokens["shop"], own)[0] == 201
    for name in ("berlin/x", "paris/x"):
        assert call("DELETE", f"{url}/v1/parts/{name}", tokens["head"])[0] == 200
    assert call("PUT", f"{url}/v1/parts/all/sum", tokens["head"], files.dumps(both))[0] == 201
    assert call("PUT", f"{url}/v1/parts/berlin/x?replace=true", tokens["shop"], own)[0] == 409
    assert total(url, tokens, "?group=all") == both.without_parts()


def test_whoever_is_revoked_is_refused_while_the_server_runs(url, tokens, place):
    with Database(str(place)) as db:
        secret = senders.create_token(db, "guest", ["read", "relay"], [], 0)
        (device,) = add_devices(db, "guest")
        sent = [message(device, sequence, rows_of(sequence)) for sequence in range(2)]
        assert call("GET", f"{url}/v1/operator", secret)[0] == 200
        assert call("POST", f"{url}/v1/messages", secret, sent[0])[1]["accepted"] == 1
        senders.revoke_device(db, device.number, 1)
        told = call("POST", f"{url}/v1/messages", secret, sent[1])[1]  # the transaction looks, whatever is remembered
        assert [each["reason"] for each in told["refused"]] == ["unknown device"]
        senders.revoke_token(db, "guest", 1)
    until = time.monotonic() + 10
    while call("GET", f"{url}/v1/operator", secret)[0] != 401:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_sender_of_too_many_messages_is_refused_for_a_while(tmp_path):
    with new_store(tmp_path) as db:
        (device,) = add_devices(db, "press")
        token = senders.create_token(db, "gateway", ["relay"], [], 0)
        other = senders.create_token(db, "other", ["relay"], [], 0)
    sent = b"".join(message(device, sequence, rows_of(sequence)[:1]) for sequence in range(100))
    with running(tmp_path, Settings(messages_per_second=5.0)) as url:
        assert call("POST", f"{url}/v1/messages", token, sent)[1]["accepted"] == 100  # a full bucket gives any amount
        assert call("POST", f"{url}/v1/messages", token, sent)[0] == 429
        assert call("POST", f"{url}/v1/messages", other, sent)[1]["repeated"] == 100


def test_a_sender_of_too_many_parts_is_refused_for_a_while(tmp_path):
    with new_store(tmp_path) as db:
        shop, other = (senders.create_token(db, name, ["send"], ["*"], 0) for name in ("shop", "other"))
    data = files.dumps(OPERATOR.sketch(rows_of(0)))
    with running(tmp_path, Settings(messages_per_second=0.1)) as url:  # one, and none for the ten seconds after it
        assert call("PUT", f"{url}/v1/parts/a", shop, data)[0] == 201
        assert call("PUT", f"{url}/v1/parts/b", shop, data)[0] == 429
        assert call("PUT", f"{url}/v1/parts/b", other, data)[0] == 201


def test_a_fault_in_one_request_does_not_fail_the_others(tmp_path, monkeypatch):
    """All that waits is written in one transaction."""
    from qckm.collector import parts

    real = parts.put
    monkeypatch.setattr(parts, "put", lambda db, part, *more: 1 // 0 if "bad" in part.name else real(db, part, *more))
    with new_store(tmp_path) as db:
        token = senders.create_token(db, "all", ["send", "read"], ["*"], 0)
    data, answers = files.dumps(OPERATOR.sketch(rows_of(0))), {}

    def put(name):
        answers[name] = call("PUT", f"{url}/v1/parts/{name}", token, data)[0]

    with running(tmp_path) as url:
        threads = [threading.Thread(target=put, args=(f"{'bad' if i % 2 else 'good'}/{i}",)) for i in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {(name.split("/")[0], status) for name, status in answers.items()} == {("bad", 503), ("good", 201)}


def test_windows_come_as_a_table(url, tokens, monkeypatch):
    target = f"{url}/v1/parts/berlin/2025-10-01"
    sketch = OPERATOR.sketch(rows_of(5))
    call("PUT", target, tokens["shop"], files.dumps(sketch))
    span = "from=2025-10-01&to=2025-10-02"
    assert call("GET", f"{url}/v1/windows?{span}", tokens["reader"])[1] == [
        {"group": "berlin", "start": "2025-10-01", "seconds": 86400, "rows": 100}
    ]
    data = call("GET", f"{url}/v1/windows?{span}&format=parquet", tokens["reader"])[1]
    table = pq.read_table(io.BytesIO(data))
    assert files.loads(table["sketch"][0].as_py()) == sketch
    assert table["rows"].to_pylist() == [100]
    data = call("GET", f"{url}/v1/windows?{span}&format=arrow", tokens["reader"])[1]
    assert pa.ipc.open_stream(data).read_all().schema == table.schema
    monkeypatch.setattr("qckm.collector.api._MOST_WINDOWS", 0)
    status, told = call("GET", f"{url}/v1/windows?{span}&format=arrow", tokens["reader"])
    assert (status, told["error"][-26:]) == (400, "1: ask for a shorter span.")


def test_a_model_and_drift_of_what_is_there(url, tokens):
    for day, shift in (("2025-09-01", 0.0), ("2025-09-02", 0.0), ("2025-09-03", 2.0)):
        rows = rows_of(int(day[-1]), 3000) + shift
        call("PUT", f"{url}/v1/parts/berlin/{day}", tokens["shop"], files.dumps(OPERATOR.sketch(rows)))
    status, model = call("GET", f"{url}/v1/model?from=2025-09-01&to=2025-09-03", tokens["reader"])
    assert (status, model["n_clusters"]) == (200, 3)
    assert model["facts"]["rows"] == 6000
    assert call("GET", f"{url}/v1/model?from=2025-09-01&to=2025-09-03", tokens["reader"])[1] == model
    span = "reference_from=2025-09-01&reference_to=2025-09-02&from={}&to={}"
    same = call("GET", f"{url}/v1/drift?" + span.format("2025-09-02", "2025-09-03"), tokens["reader"])[1]
    moved = call("GET", f"{url}/v1/drift?k=3&" + span.format("2025-09-03", "2025-09-04"), tokens["reader"])[1]
    assert (same["drifted"], moved["drifted"]) == (False, True)
    assert moved["explanation"]
    many = call("GET", f"{url}/v1/drift?k=1001&" + span.format("2025-09-03", "2025-09-04"), tokens["reader"])
    assert (many[0], many[1]["error"]) == (400, "Expected k from 0 to 1000, got 1001.")
    assert call("GET", f"{url}/v1/drift?" + span.format("2025-09-01", "2025-09-02"), tokens["reader"])[0] == 400


def test_what_one_device_sent_is_taken_out_if_it_is_a_group_of_its_own(url, tokens, devices):
    for device in (devices[3], devices[5]):
        call("POST", f"{url}/v1/messages", tokens["gateway"], message(device, 0, rows_of(7)))
    before = total(url, tokens)

    def withdraw(**what):
        return call("POST", f"{url}/v1/withdrawals", tokens["admin"], json.dumps(what).encode())

    status, told = withdraw(device=devices[3].number)
    assert status == 400
    assert "group hall with 4 other" in told["error"]
    assert withdraw(device=devices[5].number)[1] == {"rows": 100, "windows": 1, "left_as_they_are": []}
    assert total(url, tokens) == before - OPERATOR.sketch(rows_of(7))
    assert withdraw(device=77)[0] == 404
    assert withdraw(device=2**70)[0] == 404
    for wrong in (
        {"device": "x"},
        {"device": True},
        {"group": ""},
        {"group": None},
        {},
        {"device": 1, "group": "hall"},
    ):
        assert withdraw(**wrong)[0] == 400


def test_private_reports_add_up_to_a_private_sketch(url, tokens, devices):
    reporter = LocalReporter(OPERATOR, epsilon=1.0, device=devices[4].number)
    sent = b""
    for row in rows_of(0, 20):
        report = wire.loads(reporter.report(row))
        sent += signed.dumps(wire.Message(**{**report.__dict__, "boot": 3}), devices[4].key)
    assert call("POST", f"{url}/v1/messages", tokens["gateway"], sent)[1]["accepted"] == 20
    assert call("POST", f"{url}/v1/messages", tokens["gateway"], sent)[1]["repeated"] == 20
    sketch = total(url, tokens, "?private=true")
    assert (sketch.private, sketch.count) == (True, 20)
    assert sketch.ledger.epsilon == pytest.approx(20 * 1.0, rel=1e-6)


def test_private_releases_come_out_of_one_budget(url, tokens):
    pytest.importorskip("opendp")
    call("PUT", f"{url}/v1/parts/berlin/2025-08-01", tokens["shop"], files.dumps(OPERATOR.sketch(rows_of(3, 1000))))

    def release(**wishes):
        asked = {"from": "2025-08-01", "to": "2025-08-02", "operator_is_public": True, **wishes}
        return call("POST", f"{url}/v1/releases", tokens["admin"], json.dumps(asked).encode())

    status, data = release(rho=0.3)
    assert (status, files.loads(data).ledger.rho) == (200, pytest.approx(0.3))
    status, told = release(rho=0.3)
    assert (status, told["reason"]) == (403, "budget spent")
    status, data = release(rho=0.15, group="berlin")
    assert files.loads(data).ledger.rho == pytest.approx(0.45)
    assert release(rho=0.2)[0] == 403
    assert release(rho=0.01, operator_is_public="no")[0] == 400
    assert release(colour="red")[0] == release(rho="much")[0] == release()[0] == 400
    assert call("POST", f"{url}/v1/releases", tokens["reader"], b"{}")[0] == 403


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PATCH", "/v1/sketch", 405)])
def test_what_there_is_not_is_told_as_all_else(url, method, path, status):
    found, told = call(method, url + path)
    assert (found, set(told)) == (status, {"error", "reason"})


def test_whatever_is_refused_is_counted(url, tokens):
    def refused():
        lines = call("GET", f"{url}/metrics", tokens["reader"])[1].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("qckm_refused_total"))

    before = refused()
    asked = json.dumps({"rho": -1, "operator_is_public": True}).encode()  # refused by what computes it
    assert call("POST", f"{url}/v1/releases", tokens["admin"], asked)[0] == 400
    assert refused() == before + 1


def test_it_says_how_it_is(url, tokens, devices):
    sent = [message(devices[0], 900, rows_of(0)), message(devices[0], 901, rows_of(0))[:-1] + b"\0"]
    call("POST", f"{url}/v1/messages", tokens["gateway"], b"".join(sent))
    assert call("GET", f"{url}/healthz")[0] == call("GET", f"{url}/readyz")[0] == 200
    text = call("GET", f"{url}/metrics", tokens["reader"])[1].decode()
    assert 'qckm_messages_total{outcome="accepted"}' in text
    assert 'qckm_refused_total{reason="wrong MAC"}' in text
    assert files.loads(call("GET", f"{url}/v1/operator", tokens["shop"])[1]).operator == OPERATOR


def test_who_fails_too_often_is_not_listened_to(tmp_path):
    with running(tmp_path, Settings(failures_per_second=0.5)) as url:
        statuses = [call("GET", f"{url}/v1/sketch", "qckm_x_y")[0] for _ in range(20)]
        assert statuses[0] == 401
        assert statuses[-1] == 429


def test_connections_that_ask_nothing_make_room_for_those_that_do(tmp_path, monkeypatch):
    monkeypatch.setattr("qckm.collector.server._MOST_REQUESTS", 40)
    monkeypatch.setattr("qckm.collector.server._MOST_CONNECTIONS", 20)
    db = new_store(tmp_path)
    token = senders.create_token(db, "reader", ["read"], [], 0)
    db.close()
    with running(tmp_path) as url, contextlib.ExitStack() as lines:
        address = (urlsplit(url).hostname, urlsplit(url).port)
        for number in range(80):
            line = lines.enter_context(socket.create_connection(address))
            line.sendall(b"GET /v1/sketch HTTP/1.1\r\nHost: " if number % 2 else b"")
        assert call("GET", f"{url}/v1/sketch", token)[0] == 200


def test_headers_without_end_are_not_kept(url):
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as line:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(OSError):  # it hangs up
            line.sendall(bytes([97]) * (64 << 20))
    assert call("GET", f"{url}/healthz")[0] == 200


def test_more_clusters_than_rows_are_refused_in_the_words_of_the_service(url, tokens):
    few = files.dumps(OPERATOR.sketch(rows_of(50, 3)))
    assert call("PUT", f"{url}/v1/parts/kiosk/one", tokens["head"], few)[0] == 201  # a group of its own
    status, told = call("GET", f"{url}/v1/model?group=kiosk&k=4", tokens["reader"])
    assert status == 400
    assert told["error"].startswith("Expected n_clusters")


def test_another_operator_or_other_groups_need_another_store(place, tokens):
    from qckm.collector.service import Service
    from qckm.errors import CollectorError

    other = qckm.SketchOperator.draw(n_features=3, n_frequencies=40, scale=1.0, random_state=9)
    with pytest.raises(CollectorError, match="another store"):
        Service.open(str(place), SETTINGS, other)
    with pytest.raises(CollectorError, match="group_depth 1"):
        Service.open(str(place), Settings(group_depth=2))


def test_a_new_store_needs_an_operator(tmp_path):
    from qckm.collector.service import Service
    from qckm.errors import CollectorError

    with pytest.raises(CollectorError, match="--operator"):
        Service.open(str(tmp_path), Settings())
