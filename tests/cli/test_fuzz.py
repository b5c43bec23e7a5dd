"""Whatever is typed and whatever is in a file: a sentence and an exit code, no traceback, nothing half-written."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qckm
from qckm.cli import VERBS, run

op = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0, feature_names=["a", "b"])

WORDS = st.sampled_from(
    """-k 2 0 -o out.json out.qckm --scale 1e999 nan --frequencies 8 --json --columns a,b b , rows.csv op.qckm model.csv
    *.csv . --operator --on-bad skip --dtype float32 --every 1s --signature exponential --seed -1 --standardize --resume
    --quiet -- --law gaussian --nope \N{SNOWMAN} --model --data --distance --n-init bits""".split()  # noqa: SIM905
)

quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def somewhere():
    """Call a function in a new folder, and go back."""

    def inside(work):
        home = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                return work(Path(folder))
            finally:
                os.chdir(home)

    return inside


def left_over(folder):
    return [name for name in os.listdir(folder) if name.startswith(".") or name.endswith(".tmp")]


@quick
@given(verb=st.sampled_from([verb for verb in VERBS if verb != "demo"]), words=st.lists(WORDS, max_size=9))
def test_arguments(somewhere, capfd, verb, words):
    def work(folder):
        (folder / "rows.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(60)))
        op.empty().save("op.qckm")
        (folder / "bits").write_bytes(bytes(10))
        (folder / "model.csv").write_text("cluster,weight,spread,a,b\n0,0.5,0,1,1\n1,0.5,0,3,3\n")
        code = run([verb, *words])
        err = capfd.readouterr().err
        assert code in (0, 1, 2)
        assert "Traceback" not in err
        assert "a fault of qckm" not in err, err
        assert not left_over(folder)
        if code and "out.json" in words:
            assert not (folder / "out.json").exists()

    somewhere(work)


STARTS = [b"", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"\x1f\x8b\x08\0",
          b"\x28\xb5\x2f\xfd", b"BZh9", b"a,b\n1,2\n", b'{"format": "qckm-model/1"', b"cluster,weight,spread,a,b\n",
          b"\x89QCKM\r\n\x1a\x01\0\0\0"]  # fmt: skip


@quick
@given(start=st.sampled_from(STARTS), rest=st.binary(max_size=300), verb=st.sampled_from(["sketch", "predict", "info"]))
def test_files(somewhere, capfd, start, rest, verb):
    def work(folder):
        (folder / "data").write_bytes(start + rest)
        op.empty().save("op.qckm")
        (folder / "model.csv").write_text("cluster,weight,spread,a,b\n0,0.5,0,1,1\n1,0.5,0,3,3\n")
        words = {
            "sketch": ["sketch", "data", "--operator", "op.qckm", "-o", "out.qckm"],
            "predict": ["predict", "data", "-m", "model.csv", "-o", "out.csv"],
            "info": ["info", "data"],
        }[verb]
        code = run(words)
        err = capfd.readouterr().err
        assert code in (0, 1)
        assert "Traceback" not in err
        assert "a fault of qckm" not in err, err
        assert not left_over(folder)
        assert code == 0 or not {"out.qckm", "out.csv"} & set(os.listdir(folder))

    somewhere(work)


@quick
@given(text=st.text(alphabet='0123456789.,;-+eE\n\r\t"aN ', max_size=200))
def test_csv_of_any_kind(somewhere, capfd, text):
    def work(folder):
        (folder / "data.csv").write_text(text, newline="")
        code = run(["sketch", "data.csv", "--scale", "1", "--frequencies", "5", "-o", "out.qckm", "--on-bad", "skip"])
        err = capfd.readouterr().err
        assert code in (0, 1)
        assert "a fault of qckm" not in err, err
        assert not left_over(folder)

    somewhere(work)
