"""A day's work with each verb, and what is said when it cannot be done."""

import json
import os
import subprocess
import sys

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.cli import ALSO, VERBS, cli, run


def test_fit_finds_the_clusters(folder, facts):
    found = facts("fit", "part*.parquet", "-k", 3, "-o", "model.json", "--sketch", "s.qckm", "--report", "r.html")
    assert (found["rows"], found["skipped"], found["n_inputs"]) == (3000, 0, 2)
    model = qckm.load_model("model.json")
    nearest = np.sort(model.centers.round(-1) / 10, axis=0)
    assert nearest.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert model.feature_names == ("a", "b")
    assert qckm.load("s.qckm").count == 3000
    assert "3 clusters in 3,000 rows" in (folder / "r.html").read_text()
    assert sorted(os.listdir(folder)) == [
        "model.json", "part0.parquet", "part1.parquet", "r.html", "rows.csv", "rows.npy", "s.qckm",
    ]  # fmt: skip


def test_fit_without_output_prints_csv(folder, qckm_):
    code, out, err = qckm_("fit", "rows.npy", "-k", 3)
    assert code == 0
    assert out.splitlines()[0] == b"cluster,weight,spread,0,1"
    assert "3,000 rows" in err


def test_quiet_says_nothing(folder, qckm_):
    assert qckm_("fit", "rows.csv", "-k", 3, "-o", "m.csv", "--quiet") == (0, b"", "")


def test_standardised_columns_are_found_at_any_scale(folder, facts, qckm_):
    rows = np.load("rows.npy") * [1.0, 1e6] + [0.0, 1e9]
    np.save("wild.npy", rows)
    facts("fit", "wild.npy", "-k", 3, "--standardize", "-o", "m.json")
    model = qckm.load_model("m.json")
    assert model.units[1] / model.units[0] == pytest.approx(1e6, rel=0.2)
    code, out, _ = qckm_("predict", "wild.npy", "-m", "m.json")
    labels = np.array(out.split()[1:], int)
    assert code == 0
    assert np.bincount(labels, minlength=3).min() > 800


def test_a_column_beside_which_no_other_counts_is_told(folder, qckm_):
    np.save("wild.npy", np.load("rows.npy") * [1, 1e4])
    code, _, err = qckm_("fit", "wild.npy", "-k", 3, "-o", "m.json")
    assert code == 0
    assert "warning: Column '1' makes up more than 99.9% of the squared distances" in err
    assert qckm.load_model("m.json").facts["remarks"][0].startswith("Column '1' makes up")


def test_one_operator_for_many_places(folder, facts, qckm_):
    facts("operator", "part*.parquet", "-k", 3, "-o", "fleet.qckm")
    assert qckm.load("fleet.qckm").count == 0
    for part in range(2):
        facts("sketch", f"part{part}.parquet", "--operator", "fleet.qckm", "-o", f"{part}.qckm")
    facts("sketch", "part0.parquet", "part1.parquet", "--like", "0.qckm", "-o", "whole.qckm")
    assert facts("merge", "0.qckm", "1.qckm", "-o", "both.qckm")["rows"] == 3000
    assert (folder / "both.qckm").read_bytes() == (folder / "whole.qckm").read_bytes()
    facts("subtract", "both.qckm", "1.qckm", "-o", "left.qckm")
    assert qckm.load("left.qckm") == qckm.load("0.qckm")
    assert len(facts("decode", "both.qckm", "-k", 3, "-o", "m.npz")["centers"]) == 3
    facts("operator", "--like", "0.qckm", "-o", "again.qckm")
    assert (folder / "again.qckm").read_bytes() == (folder / "fleet.qckm").read_bytes()


def test_octaves_need_neither_pilot_nor_scale(folder, facts):
    wishes = ("--scale", 0.25, "--frequencies", 40, "--octaves", 5)
    assert facts("sketch", "part*.parquet", *wishes, "-o", "s.qckm")["octaves"] == 5
    sketch = qckm.load("s.qckm")
    assert (sketch.operator.n_frequencies, sketch.operator.scale) == (200, 0.25)
    found = facts("decode", "s.qckm", "-k", 3, "-o", "m.json")
    assert found["octave"] in range(5)
    assert np.sort(qckm.load_model("m.json").centers.round(), axis=0).tolist() == [[0, 0], [0, 0], [8, 8]]


def test_octaves_are_around_the_pilots_scale(folder, facts):
    alone, three = (facts("operator", "rows.npy", "-k", 3, "--octaves", k, "-o", "op.qckm")["scale"] for k in (1, 3))
    assert three == alone / 2


def test_sketches_of_different_operators_say_how_to_share_one(folder, qckm_):
    for seed in range(2):
        qckm_("sketch", "rows.npy", "--scale", 2, "--frequencies", 20, "--seed", seed, "-o", f"{seed}.qckm")
    code, _, err = qckm_("merge", "0.qckm", "1.qckm", "-o", "out.qckm")
    assert code == 1
    assert "1.qckm: Cannot add sketches of different operators" in err
    assert "qckm operator" in err
    assert not (folder / "out.qckm").exists()


def test_encode_and_pool_give_the_sketch(folder, facts):
    facts("operator", "rows.csv", "-k", 3, "-o", "fleet.qckm")
    assert facts("encode", "rows.csv", "--operator", "fleet.qckm", "-o", "rows.bits")["rows"] == 3000
    facts("pool", "rows.bits", "--operator", "fleet.qckm", "-o", "pooled.qckm")
    facts("sketch", "rows.csv", "--operator", "fleet.qckm", "-o", "sketched.qckm")
    assert qckm.load("pooled.qckm") == qckm.load("sketched.qckm")


def test_predict_writes_labels_in_order(folder, facts, qckm_):
    facts("fit", "part*.parquet", "-k", 3, "-o", "model.parquet")
    expected = qckm.load_model("model.parquet").predict(np.load("rows.npy"))
    facts("predict", "part*.parquet", "-m", "model.parquet", "-o", "labels.parquet", "--distance")
    labels = pq.read_table("labels.parquet")
    assert labels.column_names == ["cluster", "distance"]
    assert labels["cluster"].to_pylist() == expected.tolist()
    _, out, _ = qckm_("predict", "rows.csv", "-m", "model.parquet")
    assert out.split()[1:] == [str(label).encode() for label in expected]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "npz"])
def test_columns_without_names_are_numbers_everywhere(folder, facts, qckm_, ending):
    facts("fit", "rows.npy", "-k", 3, "-o", f"m.{ending}")
    model = qckm.load_model(f"m.{ending}")
    assert (model.feature_names, model.names) == (None, ("0", "1"))
    for data in ("rows.npy", "rows.csv"):  # they fit columns of any name
        assert facts("predict", data, "-m", f"m.{ending}", "-o", "labels.csv")["rows"] == 3000
    assert facts("fit", "rows.npy", "-k", 3, "--columns", "0,1", "-o", "again.json")["features"] == 2
    (folder / "old.csv").write_text("cluster,weight,spread,feature 0,feature 1\n0,1.0,0.0,1.0,2.0\n")
    assert qckm.load_model("old.csv").feature_names is None


def test_bad_rows(folder, facts, qckm_):
    (folder / "bad.csv").write_text("a,b\n1,2\n,3\n4,5\n6,7\n8,1\n")
    code, _, err = qckm_("sketch", "bad.csv", "--scale", 1, "--frequencies", 9, "-o", "bad.qckm")
    assert code == 1
    assert "bad.csv" in err
    assert "row 1" in err
    assert "'a'" in err
    assert not (folder / "bad.qckm").exists()
    found = facts("sketch", "bad.csv", "--scale", 1, "--frequencies", 9, "-o", "bad.qckm", "--on-bad", "skip")
    assert (found["rows"], found["skipped"]) == (4, 1)
    assert facts("info", "bad.qckm")["skipped"] == 1
    facts("fit", "bad.csv", "-k", 2, "-o", "m.json", "--on-bad", "skip")
    assert facts("predict", "bad.csv", "-m", "m.json", "-o", "l.parquet", "--on-bad", "skip")["skipped"] == 1
    assert pq.read_table("l.parquet")["cluster"].to_pylist()[1] is None


@pytest.mark.parametrize(("line", "fields"), [("3", 1), ("3,4,5", 3)])
@pytest.mark.parametrize("verb", ["fit -k 2", "sketch --scale 1 --frequencies 9", "predict -m m.csv"])
def test_a_line_of_too_few_or_too_many_fields_is_named(folder, qckm_, verb, line, fields):
    (folder / "m.csv").write_text("cluster,weight,spread,a,b\n0,0.5,0,1,1\n1,0.5,0,3,3\n")
    (folder / "ragged.csv").write_text(f"a,b\n1,2\n\n5,6\n{line}\n7,8\n9,9\n")
    code, _, err = qckm_(*verb.split(), "ragged.csv")
    assert code == 1
    assert f"ragged.csv: expected 2 fields, as the first line has, got {fields} in line 5. Fix" in err
    (folder / "ragged.csv").write_text(f"a,b\n{line}\n")
    code, _, err = qckm_("fit", "ragged.csv", "-k", 1)
    assert code == 1
    assert f"found none: expected 2 fields, as the first line has, got {fields} in line 2." in err


def test_predict_refuses_rows_at_no_finite_distance(folder, facts, qckm_):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.json")
    (folder / "far.csv").write_text("a,b\n1,2\n3,-1e300\n4,5\n")
    code, _, err = qckm_("predict", "far.csv", "-m", "m.json", "-o", "labels.parquet")
    assert code == 1
    assert "far.csv: expected values up to 1e150" in err
    assert "got -1e+300 in row 1 (the first is 0), column 'b'" in err
    assert facts("predict", "far.csv", "-m", "m.json", "-o", "labels.parquet", "--on-bad", "skip")["skipped"] == 1
    assert pq.read_table("labels.parquet")["cluster"].to_pylist()[1] is None


def test_info_knows_sketches_and_models(folder, facts, qckm_):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.json", "--sketch", "s.qckm")
    assert facts("info", "s.qckm")["rows"] == 3000
    assert facts("info", "m.json")["clusters"] == 3
    code, out, _ = qckm_("info", "s.qckm")
    assert code == 0
    assert b"one-bit" in out


def test_report_from_a_model_alone_and_with_data(folder, facts):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.csv")
    bare = facts("report", "m.csv", "-o", "bare.html")["bytes"]
    assert facts("report", "m.csv", "--data", "part*.parquet", "-o", "full.html")["bytes"] > bare


def test_demo_does_the_main_job(folder, facts):
    assert facts("demo", "--rows", 2000, "--folder", "out")["rows"] == 2000
    assert sorted(os.listdir("out")) == ["model.json", "report.html", "rows.parquet", "rows.qckm"]
    assert "qckm fit out/rows.parquet -k 10" in (folder / "out" / "report.html").read_text()


def test_pipes_of_verbs(folder):
    def shell(command):
        environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shell("qckm sketch rows.csv --scale 2 --frequencies 30 -q > a.qckm")
    merged = shell("cat rows.csv | qckm sketch - --operator a.qckm -q | qckm merge a.qckm - -q | qckm info - --json")
    assert json.loads(merged)["rows"] == 6000


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["fit"],
        ["fit", "rows.csv"],
        ["fit", "rows.csv", "-k", "0"],
        ["fit", "rows.csv", "-k", "many"],
        ["fit", "rows.csv", "-k", "2", "--decoder", "magic", "-o", "x.json"],
        ["sketch", "rows.csv", "-o", "x.qckm"],
        ["sketch", "rows.csv", "--scale", "-1", "--frequencies", "5", "-o", "x.qckm"],
        ["sketch", "rows.csv", "-k", "2", "--every", "never", "-o", "x.qckm"],
        ["sketch", "rows.csv", "-k", "2", "-o", "-", "--json"],
        ["sketch", "rows.csv", "--scale", "nan", "--frequencies", "5", "-o", "x.qckm"],
        ["sketch", "rows.csv", "--scale", "1e999", "--frequencies", "5", "-o", "x.qckm"],
        ["sketch", "rows.csv", "-k", "2", "--law", "none", "-o", "x.qckm"],
        ["sketch", "rows.csv", "-k", "2", "--signature", "none", "-o", "x.qckm"],
        ["operator", "-k", "2", "-o", "x.qckm"],
        ["predict", "rows.csv", "-m", "m.json", "-o", "labels.xlsx"],
        ["fit", "rows.csv", "-k", "2", "--columns", "a,,b", "-o", "x.json"],
        ["fit", "rows.csv", "-k", "2", "-o", "x.docx"],
        ["decode", "rows.csv", "-k", "2", "-o", "x"],
    ],
)
def test_wrong_use_exits_with_2(folder, qckm_, words):
    before = sorted(os.listdir(folder))
    code, out, err = qckm_(*words)
    assert (code, out) == (2, b"")
    assert "Error" in err
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "nowhere.csv", "-k", "2", "-o", "x.json"], "nowhere.csv: No such file"),
        (["fit", "*.nothing", "-k", "2", "-o", "x.json"], "found none of that pattern"),
        (["fit", "rows.csv", "-k", "2", "-o", "no/folder/x.json"], "no/folder: No such folder"),
        (["fit", "rows.csv", "-k", "2", "--columns", "z", "-o", "x.json"], "expected the column 'z'"),
        (["fit", "rows.csv", "-k", "5000", "-o", "x.json"], "Expected n_clusters <= the 3000"),
        (["sketch", "rows.csv", "--operator", "rows.csv", "-o", "x.qckm"], "got text, a CSV perhaps"),
        (["fit", "rows.csv", "-k", "2", "-o", "x.json", "--report", "no/r.html"], "no: No such folder"),
        (["predict", "rows.csv", "-m", "rows.csv", "-o", "no/x.csv"], "no: No such folder"),
        (["operator", "rows.csv", "-k", "2", "-o", "no/x.qckm"], "no: No such folder"),
        (["decode", "rows.csv", "-k", "2"], "got text, a CSV perhaps"),
        (["predict", "rows.csv", "-m", "rows.csv"], "expected a model file"),
        (["info", "rows.npy"], "expected a model file"),
        (["pool", "rows.csv", "--operator", "rows.npy"], "an array of NumPy's"),
    ],
)
def test_what_fails_exits_with_1_and_a_sentence(folder, qckm_, words, said):
    before = sorted(os.listdir(folder))
    code, out, err = qckm_(*words)
    assert (code, out) == (1, b"")
    assert said in err
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("data", ["rows.csv", "part*.parquet"])
def test_more_clusters_than_rows_are_refused_before_the_pass(folder, qckm_, monkeypatch, data):
    monkeypatch.setattr("qckm.cli.data_to_sketch.states", lambda *_: pytest.fail("the rows were sketched"))
    code, _, err = qckm_("fit", data, "-k", 5000, "-o", "x.json")
    assert code == 1
    assert err.splitlines()[-1] == "qckm: Expected n_clusters <= the 3000 row(s) read, got 5000: choose a smaller K."
    assert "clipped" not in err


def test_every_verb_has_help_that_opens_with_what_it_does_and_examples(qckm_):
    for verb in VERBS:
        code, out, _ = qckm_(verb, "--help")
        assert code == 0
        lines = out.decode().splitlines()
        first = lines.index("  Examples:") + 1  # a line of its own, and so has each of them
        assert lines[first].startswith("    qckm ")
        assert not any(character in out for character in (b"\b", b"\\b"))
    assert b"Examples:" in qckm_("--help")[1]
    assert qckm_("--version")[1].split()[0] == b"qckm"


def test_help_needs_no_numerical_library():
    code = "import sys; from qckm.cli import run; run(['--help']); "
    code += "assert not {'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    program = os.path.join(os.path.dirname(sys.executable), "qckm")
    subprocess.run([program, "fit", "rows.csv", "-k", "3", "-o", "m.json", "-q"], check=True)
    done = subprocess.run(f"'{program}' predict rows.csv -m m.json | head -1", shell=True, capture_output=True)
    assert b"Traceback" not in done.stderr


def test_quoted_patterns_stand_for_sketches_in_every_verb(folder, facts, qckm_):
    facts("operator", "part*.parquet", "-k", 3, "-o", "op.qckm")
    for part in range(2):
        facts("sketch", f"part{part}.parquet", "--operator", "op.qckm", "-o", f"s{part}.qckm")
    assert facts("merge", "s*.qckm", "-o", "all.qckm")["rows"] == 3000
    assert facts("subtract", "all.qckm", "s*.qckm", "-o", "none.qckm")["rows"] == 0
    (folder / "sketches").mkdir()
    for part in range(2):
        (folder / f"s{part}.qckm").rename(folder / "sketches" / f"s{part}.qckm")
    assert facts("merge", "sketches", "-o", "all.qckm")["rows"] == 3000
    facts("decode", "al*.qckm", "-k", 3, "-o", "model.json")
    assert facts("info", "mod*.json")["clusters"] == 3
    assert facts("predict", "part*.parquet", "-m", "mod*.json", "-o", "labels.csv")["rows"] == 3000
    assert facts("sketch", "part0.parquet", "--operator", "al*.qckm", "-o", "again.qckm")["rows"] == 1500
    code, _, err = qckm_("decode", "sketches/*.qckm", "-k", 3)
    assert code == 2
    assert "expected one file, got 2" in err
    assert "Merge them: qckm merge 'sketches/*.qckm' -o all.qckm" in err


def test_columns_are_left_out_by_name(folder, facts, qckm_):
    rows = np.load("rows.npy")
    pq.write_table(pa.table({"id": range(3000), "who": ["x"] * 3000, "a": rows[:, 0], "b": rows[:, 1]}), "t.parquet")
    left = facts("sketch", "t.parquet", "--exclude", "id,who", "-k", 3, "-o", "left.qckm")
    named = facts("sketch", "t.parquet", "--columns", "a,b", "-k", 3, "-o", "named.qckm")
    assert left["fingerprint"] == named["fingerprint"]
    code, _, err = qckm_("sketch", "t.parquet", "--exclude", "ids", "-k", 3, "-o", "x.qckm")
    assert (code, "did you mean 'id'" in err) == (1, True)
    code, _, err = qckm_("sketch", "t.parquet", "--exclude", "id", "--columns", "a", "-k", 3, "-o", "x.qckm")
    assert (code, "--columns, those to read, or --exclude" in err) == (2, True)


def test_rows_that_are_bad_are_counted_by_every_verb_that_reads_rows(folder, facts, qckm_):
    rows = np.load("rows.npy")
    rows[[3, 7]] = np.nan
    np.save("bad.npy", rows)
    for verb in (("operator", "-k", 3), ("fit", "-k", 3, "--sketch", "s.qckm"), ("sketch", "--like", "s.qckm")):
        code, _, err = qckm_(
            verb[0], "bad.npy", *verb[1:], "-o", "o.json" if verb[0] == "fit" else "o.qckm", "--on-bad", "skip"
        )
        assert (code, "skipped 2 bad rows" in err) == (0, True)
    for words in (
        "decode s.qckm -k 3 --rows bad.npy -o m.json",
        "calibrate s.qckm bad.npy -o w.csv",
        "report o.json --data bad.npy -o r.html",
        "drift s.qckm o.qckm --reference bad.npy",
    ):
        code, _, err = qckm_(*words.split())
        assert (code, "got a missing value" in err) == (2 if words.startswith("drift") else 1, True)
        code, _, err = qckm_(*words.split(), "--on-bad", "skip")
        assert "bad.npy: skipped 2 bad rows" in err
    weights = (folder / "w.csv").read_text().split("\n")
    assert [place for place, weight in enumerate(weights[1:3001]) if not weight] == [3, 7]
    found = facts("predict", "bad.npy", "-m", "o.json", "-o", "labels.csv", "--on-bad", "skip")
    assert (found["rows"], found["skipped"], sum(found["rows_by_cluster"])) == (2998, 2, 2998)


def test_fit_writes_no_sketch_to_learn_its_size(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(500, 2)))
    monkeypatch.setattr("qckm.sketch.files.dumps", lambda sketch: pytest.fail("a sketch was written"))
    assert run(["fit", str(tmp_path / "rows.npy"), "-k", "2", "-o", str(tmp_path / "model.json")]) == 0
    assert "sketch_bytes" not in qckm.load_model(tmp_path / "model.json").facts


def test_the_verbs_of_python_work_on_the_command_line(folder, facts, qckm_):
    context = click.Context(cli)
    for name, verb in ALSO.items():
        assert cli.get_command(context, name) is cli.get_command(context, verb)
        where = qckm.privacy if name == "release" else qckm
        assert callable(getattr(where, name.replace("-", "_")))
    facts("operator", "rows.npy", "-k", 3, "-o", "op.qckm")
    facts("sketch", "part0.parquet", "--operator", "op.qckm", "-o", "a.qckm")
    assert facts("compare", "a.qckm", "a.qckm") == facts("drift", "a.qckm", "a.qckm")
    assert qckm_("compare", "a.qckm", "nowhere.qckm")[0] == 2  # as of drift, where 1 is an answer


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is_for(verb):
    command = cli.get_command(click.Context(cli), verb)
    for each in (command, *getattr(command, "commands", {}).values()):
        silent = [param.name for param in each.params if isinstance(param, click.Option) and not param.help]
        assert not silent
