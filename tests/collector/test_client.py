"""The sender's side: requests are made again, what does not arrive waits, and nothing waits behind what is refused."""

import contextlib

import pytest

from collector.fleet import OPERATOR, new_store, rows_of, running
from qckm.cli import run
from qckm.collector import client, senders
from qckm.collector.client import Outbox, Undelivered
from qckm.collector.database import Database
from qckm.errors import CollectorError
from qckm.sketch import files
from servers import Quiet, free_port, web


@contextlib.contextmanager
def serving(*answers):
    """A server that does one thing after the other, and the last of them from then on; yields its URL and what came."""
    heard = []

    class Handler(Quiet):
        def do_GET(self):
            length = int(self.headers.get("Content-Length") or 0)
            heard.append((self.path, self.headers.get("Authorization"), self.rfile.read(length)))
            answers[min(len(heard), len(answers)) - 1](self)

        do_PUT = do_POST = do_GET

    with web(Handler) as url:
        yield url, heard


def says(body, status=200, length=None, **headers):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def hangs_up(handler):
    handler.connection.close()


ACCEPTED = b'{"part": "a", "outcome": "accepted", "rows": 1}'


@pytest.fixture
def waits(monkeypatch):
    """Nobody sleeps; yields how long they would have."""
    found = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


@pytest.mark.parametrize(
    "answer",
    [
        says(b"half an ans", length=100),
        hangs_up,
        says(b"", 503),
        says(b"{}", 500),
        says(b"[]", 429),
        says(b"\xff", 502),
    ],
    ids=["cut short", "hung up", "503", "500", "429", "502"],
)
def test_a_request_is_made_again_until_it_is_answered(answer, waits):
    with serving(answer, answer, says(b"here it is")) as (url, heard):
        assert client.fetch(url, token="t") == b"here it is"
    assert len(heard) == 3
    assert len(waits) == 2
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1


def test_a_server_that_says_when_is_not_asked_before(waits):
    with serving(says(b"{}", 503, Retry_After="7"), says(b"{}", 429, Retry_After="1000"), says(b"x")) as (url, _):
        client.fetch(url, token="t")
    assert 7 <= waits[0] <= 14
    assert waits[1] == 30


def test_it_gives_up_after_some_tries_and_at_once_where_it_is_refused(waits):
    with serving(says(b'{"error": "No."}', 409)) as (url, heard):
        with pytest.raises(CollectorError, match="No"):
            client.fetch(url, token="t")
        assert len(heard) == 1
    with serving(hangs_up) as (url, heard):
        with pytest.raises(Undelivered, match="Tried 6 times"):
            client.fetch(url, token="t")
        assert len(heard) == 6


def test_a_token_goes_nowhere_else_and_a_password_into_no_message(waits):
    with serving(says(b"stolen")) as (elsewhere, stolen), serving(says(b"", 302, Location=elsewhere)) as (url, _):
        with pytest.raises(CollectorError, match="HTTP 302"):
            client.fetch(url, token="t")
        assert stolen == []
    with pytest.raises(Undelivered) as error:
        client.post(f"http://me:5ecre7@127.0.0.1:{free_port()}/hook", b"{}")
    assert "5ecre7" not in str(error.value)


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(client, "_MOST_BYTES", 1000)
    with (
        serving(says(bytes(100_000), length=10**15)) as (url, _),
        pytest.raises(CollectorError, match="at most 1,000 bytes"),
    ):
        client.fetch(url, token="t")


@pytest.fixture
def shop(tmp_path, monkeypatch, capfd):
    """A shop with an outbox and a collector that does not run; returns a command line, and the outbox."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for seed in (1, 2, 3):
        OPERATOR.sketch(rows_of(seed)).save(tmp_path / f"{seed}.qckm")
    with new_store(tmp_path / "collector") as db:
        monkeypatch.setenv("QCKM_TOKEN", senders.create_token(db, "shop", ["send", "read"], ["berlin/*"], 0))

    def call(*words):
        code = run(list(map(str, words)))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out + err

    return call, Outbox(tmp_path / "state/qckm/outbox")


def move_to(box, url):
    """Have what waits wait for another address: that of a collector which has come back."""
    for letter in box.waiting():
        letter.path.unlink()
        box.add(url, letter.part, letter.data, letter.replace)


def test_a_sketch_waits_until_the_collector_is_there(shop, tmp_path, waits):
    call, box = shop
    code, said = call("send", "1.qckm", "--to", f"http://127.0.0.1:{free_port()}", "--part", "berlin/1")
    assert (code, "1 sketch(es) wait" in said) == (1, True)
    with running(tmp_path / "collector") as url:
        move_to(box, url)
        assert call("send", "2.qckm", "--to", url, "--part", "berlin/2")[0] == 0
        assert box.waiting() == list(box.folder.iterdir()) == []
        assert call("send")[0] == 0
        assert call("send", "2.qckm", "--to", url, "--part", "berlin/2")[1].startswith("berlin/2: repeated")
        call("merge", f"{url}/v1/sketch", "-o", "out.qckm")
    assert files.load("out.qckm") == files.load("1.qckm") + files.load("2.qckm")


def test_nothing_waits_behind_a_part_that_is_refused(shop, tmp_path):
    call, box = shop
    with running(tmp_path / "collector") as url:
        call("send", "1.qckm", "--to", url, "--part", "berlin/1")
        box.add(url, "berlin/1", files.dumps(files.load("2.qckm")))  # another content under the same name
        code, said = call("send", "3.qckm", "--to", url, "--part", "berlin/3")
        assert (code, "berlin/3: accepted" in said, "replace=true" in said) == (1, True, True)
        (kept,) = box.folder.iterdir()
        assert f"kept as {kept}" in said
        assert files.load(kept) == files.load("2.qckm")
        assert call("send")[0] == 0
        assert call("send", kept, "--to", url, "--part", "berlin/1", "--replace")[0] == 0
        call("merge", f"{url}/v1/sketch", "-o", "out.qckm")
    assert files.load("out.qckm") == files.load("2.qckm") + files.load("3.qckm")


def test_with_another_token_it_would_be_taken_so_it_waits(shop, tmp_path, monkeypatch):
    call, box = shop
    with running(tmp_path / "collector") as url:
        assert call("send", "1.qckm", "--to", url, "--part", "paris/1")[0] == 1  # its token may send berlin/*
        monkeypatch.delenv("QCKM_TOKEN")
        assert call("send", "2.qckm", "--to", url, "--part", "berlin/2")[0] == 1
        assert [letter.part for letter in box.waiting()] == ["paris/1", "berlin/2"]
        with Database("collector") as db:
            monkeypatch.setenv("QCKM_TOKEN", senders.create_token(db, "other", ["send"], ["*"], 0))
        assert call("send")[0] == 0
    assert box.waiting() == []


def test_what_waits_for_one_collector_is_not_sent_with_the_token_of_another(shop, waits):
    call, box = shop
    with serving(says(ACCEPTED)) as (one, heard), serving(says(ACCEPTED)) as (other, _):
        box.add(one, "berlin/1", b"sketch")
        assert call("send", "1.qckm", "--to", other, "--part", "a")[0] == 0
        assert heard == []
        assert [letter.url for letter in box.waiting()] == [one]


def test_another_sketch_of_the_same_part_is_not_lost_while_the_first_is_sent(shop):
    _, box = shop
    with serving(lambda handler: (box.add(url, "a", b"second", True), says(ACCEPTED)(handler))) as (url, _):
        box.add(url, "a", b"first").send()
    assert [letter.data for letter in box.waiting()] == [b"second"]


def test_a_file_in_the_outbox_that_is_no_letter_is_said(shop):
    call, box = shop
    box.folder.mkdir(parents=True)
    for text in (b"", b"[]\n", b"{}\n"):
        (box.folder / "x.letter").write_bytes(text)
        code, said = call("send")
        assert (code, "remove it" in said) == (1, True)
