"""Secrets of URLs that were written or said (issue 33, number 6): of a URL, scheme, host and path may be seen."""

import os
import socket
import subprocess
import sys
import traceback

import numpy as np
import pytest

import qckm
from qckm.cli import run
from qckm.collector.client import Client, Outbox, Undelivered, fetch
from qckm.collector.database import Database
from qckm.collector.refusals import Unavailable
from qckm.common.text import public_name, public_words, without_secrets
from qckm.errors import CollectorError, SourceError
from qckm.sources.opening import open_source
from servers import Quiet, web

ROWS = np.random.default_rng(0).normal(size=(200, 2))
SECRET = "5ecre7"


class Handler(Quiet):
    """Serves files whatever the query; some answers repeat it."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        match path:
            case "/missing.csv":
                self.send_error(403)
            case "/echo.csv":
                self.send_error(403, f"denied: {self.path}")
            case "/moved.csv":
                self.send_response(302)
                self.send_header("Location", f"s3://bucket/rows.csv?{query}")
                self.end_headers()
            case _:
                self.path = path
                super().do_GET()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", ROWS, header="a,b", comments="", delimiter=",")
    return tmp_path


@pytest.fixture
def site(folder):
    with web(Handler) as url:
        yield url


def test_6_a_signature_is_in_no_model_no_report_and_no_message(site, folder, monkeypatch, capfd):
    url = f"{site}/rows.csv?X-Amz-Signature={SECRET}&X-Amz-Expires=60#{SECRET}"
    words = ["fit", url, "-k", "2", "-o", "model.json", "--report", "report.html", "--sketch", "s.qckm"]
    monkeypatch.setattr(sys, "argv", ["qckm", *words])
    assert run() == 0
    assert run(["fit", url, "-k", "2", "--json", "-q"]) == 0
    assert run(["sketch", url.replace("rows", "missing"), "-k", "2", "-o", "s2.qckm"]) == 1
    assert run(["fit", url, "-k", "2", "-c", "nothing", "-o", "m2.json"]) == 1
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path
    facts = qckm.load_model("model.json").facts
    assert facts["inputs"] == [f"{site}/rows.csv"]
    assert f"{site}/rows.csv" in facts["command"]
    assert "missing.csv: the server answers 403" in err


@pytest.mark.parametrize(
    "url, shown",
    [
        (f"s3://key:{SECRET}@bucket/a/b.parquet", "s3://bucket/a/b.parquet"),
        (f"https://host?{SECRET}", "https://host"),
        (f"https://me:{SECRET}@[::1]:8080/x#{SECRET}", "https://[::1]:8080/x"),
        ("C://rows.csv?", "C://rows.csv?"),
        # As people type them: neither is a slash in a password written as %2F.
        (f"s3://KEY:ab/{SECRET}@bucket/a.csv", "s3://bucket/a.csv"),
        (f"https://me:{SECRET}/x@host/a.csv?b=c@d", "https://host/a.csv"),
        (f"https://me:ab?{SECRET}@host/a.csv?{SECRET}", "https://host/a.csv"),
        (f"https://me:ab;{SECRET}@host:80/a.csv", "https://host:80/a.csv"),
        (f"https://me:{SECRET}/a.csv", "https://me"),
        (f"https://@host/a?{SECRET}", "https://host/a"),
        ("https://host:8080/@me/a@b.csv", "https://host:8080/@me/a@b.csv"),
        (f"zip://a.csv::https://me:{SECRET}@[::1]/b.zip?{SECRET}", "zip://a.csv::https://[::1]/b.zip"),
        (f"simplecache::s3://key:{SECRET}@b/x.csv?{SECRET}", "simplecache::s3://b/x.csv"),
    ],
)
def test_6_a_url_is_shown_without_its_secrets(url, shown):
    assert public_name(url) == shown


@pytest.mark.parametrize(
    "words, shown",
    [
        (f"--operator=https://me:{SECRET}@host/a.qckm?x={SECRET}", "--operator=https://host/a.qckm"),
        (f"got 's3://b/*.csv?{SECRET}'.", "got 's3://b/*.csv'."),
        (f"simplecache::s3://key:{SECRET}@b/x.csv: missing", "simplecache::s3://b/x.csv: missing"),
        (f"http:/host/x?{SECRET}: missing", "http:/host/x: missing"),
        (f"sc://host:15002/;token={SECRET}", "sc://host:15002/"),
        ("C:/rows.csv? a://b", "C:/rows.csv? a://b"),
        (f"zip://a::simplecache::https://me:ab/{SECRET}@h/x?{SECRET}: no", "zip://a::simplecache::https://h/x: no"),
    ],
)
def test_6_urls_within_words_are_shown_without_their_secrets(words, shown):
    assert public_words(words) == shown


def test_6_what_a_library_says_of_a_part_of_a_url_is_shown_without_it():
    url = f"https://me:{SECRET}@host/rows.csv?id=7&sig={SECRET}%2F"
    for said in (f"nonnumeric port: '{SECRET}@host'", f"GET /rows.csv?id=7&sig={SECRET}%2F", f"no user me:{SECRET}"):
        assert SECRET not in without_secrets(said, url)
    assert without_secrets("[Errno 111] Connection refused: id 7", url) == "[Errno 111] Connection refused: id 7"


@pytest.mark.parametrize("name", ["missing.csv?", "echo.csv?", "moved.csv?", "rows.csv?a b"])
def test_6_no_answer_of_a_server_repeats_a_signature(site, name):
    with pytest.raises(SourceError, match=rf"/{name.partition('?')[0]}") as raised:
        open_source(f"{site}/{name}&sig={SECRET}")
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["{}/echo.csv?sig=", "http://me:{}@127.0.0.1/rows.csv?", "http://me:ab/{}@127.0.0.1/rows.csv?"]
)
def test_6_what_python_shows_of_an_error_has_no_secret(site, url):
    """Also where it shows what the error came of, as logs of programs do."""
    url = url.format(site if "echo" in url else SECRET) + SECRET
    with pytest.raises(SourceError) as raised:
        open_source(url)
    assert SECRET not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "secret", [f"a'{SECRET}", f'a"{SECRET}', f"a {SECRET}", f"a\\{SECRET}", f"<{SECRET}>", f"a\n{SECRET}"]
)
def test_6_a_secret_with_quotes_or_spaces_is_said_no_further(site, folder, capfd, secret):
    for name in ("missing.csv", "rows.csv", "zz://x/y"):
        url = f"{name if '://' in name else f'{site}/{name}'}?{secret}"
        for words in (["sketch", url, "-k", "2", "-o", "s.qckm"], ["fit", "rows.csv", "-k", "2", f"--output={url}"]):
            run(words)
        run(["sketch", "rows.csv", "-k", "2", f"--operator={url}", "-o", "s.qckm", f"--scale={url}"])
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize("user", [f"me:{SECRET}%zz", f"me:{SECRET} x", f"me:{SECRET}@[127", f"me:ab/{SECRET}"])
def test_6_what_a_database_says_of_a_password_is_not_repeated(user):
    """A password with a % that should be %25, which PostgreSQL's library quotes, was in the collector's log."""
    pytest.importorskip("psycopg")
    with pytest.raises(Unavailable, match=r"^PostgreSQL: ") as raised:
        Database(f"postgresql://{user}@127.0.0.1:1/fleet").rows("SELECT 1")
    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_6_a_password_is_not_taken_for_a_port():
    with pytest.raises(SourceError, match=r"http://127\.0\.0\.1/rows.csv: cannot be fetched") as raised:
        open_source(f"http://me:{SECRET}@127.0.0.1/rows.csv")
    assert SECRET not in str(raised.value)


def test_6_sketches_and_operators_of_urls_leave_no_signature(site, folder, monkeypatch, capfd):
    monkeypatch.setenv("QCKM_TOKEN", "token")
    op = qckm.SketchOperator.draw(2, 60, 1.0, feature_names=("a", "b"), random_state=0)
    op.sketch(ROWS).save("s.qckm")
    qckm.SketchOperator.draw(2, 50, 1.0, random_state=1).sketch(ROWS).save("other.qckm")
    signed, other, rows = (f"{site}/{name}?{SECRET}" for name in ("s.qckm", "other.qckm", "rows.csv"))
    for words in (
        ["decode", signed, "-k", "2", "-o", "m.json"],
        ["decode", signed, "-k", "2", "--rows", rows, "-o", "n.json"],
        ["fit", "rows.csv", "-k", "2", f"--operator={signed}", "-o", "o.json"],
        ["merge", "s.qckm", other, "-o", "all.qckm"],
        ["choose-k", signed, "-k", "1-2", "--report", "choice.html", "--json"],
        ["drift", "s.qckm", signed, "--report", "drift.html", "--json"],
        ["drift", "s.qckm", "s.qckm", "--against", signed],
        ["pool", rows, "--operator", signed, "-o", "pool.qckm"],
        ["project", rows, "--axes", signed, "-o", "p.csv"],
        ["fit", "rows.csv", "-k", "2", "-o", signed],
        ["fit", "rows.csv", "-k", "2", "-o", "e.json", f"--engine=zz://me:{SECRET}@host"],
    ):
        monkeypatch.setattr(sys, "argv", ["qckm", *words])
        run()
        out, err = capfd.readouterr()
        assert SECRET not in out + err, words
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path


def test_6_the_model_of_a_private_sketch_names_rows_without_their_signature(site, folder, capfd):
    op = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=20, octaves=1, random_state=0)
    qckm.privacy.release(op.sketch(ROWS), epsilon=9.0, delta=1e-6).save("public.qckm")
    assert run(["decode", "public.qckm", "-k", "2", "--rows", f"{site}/rows.csv?{SECRET}", "-o", "m.json"]) == 0
    assert qckm.load_model("m.json").facts["privacy"].startswith(f"the model is not private: the rows of {site}/rows.")
    assert SECRET not in (folder / "m.json").read_text() + capfd.readouterr().err


def test_6_a_traceback_and_an_engine_show_no_password(folder):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{closed.getsockname()[1]}"
        code = (
            "from qckm import engines; engines._PATIENCE = 0.1; from qckm.cli import run\n"
            "import qckm.cli.data_to_sketch as module\n"
            f"run(['fit', 'rows.csv', '-k', '2', '-o', 'm.json', '--engine', 'dask://me:{SECRET}@{place}'])\n"
            f"def broken(*_, **__): raise RuntimeError('dask://me:{SECRET}@{place} is gone')\n"
            "module.sketch_data = broken\n"
            "run(['fit', 'rows.csv', '-k', '2', '-o', 'm.json'])\n"
        )
        environment = {**os.environ, "QCKM_DEBUG": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert f"Expected a cluster at dask://{place}" in done.stderr
    assert f"RuntimeError: dask://{place} is gone" in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_6_an_outbox_holds_no_secret(tmp_path):
    for url in (f"https://me:{SECRET}@host:1", f"https://host?t={SECRET}", f"https://host/#{SECRET}"):
        with pytest.raises(
            CollectorError, match=r"^host.*: expected the address of a collector without a user"
        ) as raised:
            Outbox(tmp_path / "box").add(url, "a/b", b"sketch")
        assert SECRET not in str(raised.value)
    assert not (tmp_path / "box").exists()


def test_6_a_token_is_in_no_message():
    with pytest.raises(Undelivered, match="of ASCII characters") as raised:
        fetch("http://127.0.0.1:1/", token=f"{SECRET}\nx", tries=1)
    assert SECRET not in str(raised.value)
    with pytest.raises(Undelivered, match="Tried 1 times"):  # the end of a line in a file of a token is no part of it
        Client("http://127.0.0.1:1", f"{SECRET}\n", 1).post_messages(b"")
