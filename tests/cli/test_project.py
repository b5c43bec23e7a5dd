"""`qckm project`: many columns become a few components; what is said before a sketch of many columns."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA


@pytest.fixture
def digits(folder):
    frame = load_digits(as_frame=True).data
    frame.to_parquet("digits.parquet")
    return frame


def test_rows_are_projected_by_the_components_of_all_rows(digits, qckm_):
    words = ("digits.parquet", "-n", 10, "-o", "narrow.parquet", "--save-axes", "axes.json", "--json")
    code, out, _ = qckm_("project", *words)
    assert code == 0
    found, known = pd.read_parquet("narrow.parquet").to_numpy(), PCA(10).fit(digits)
    assert json.loads(out)["explained_variance"] == pytest.approx(known.explained_variance_ratio_.sum(), abs=1e-3)
    expected = known.transform(digits)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=0.05)


def test_another_place_projects_by_the_same_axes(folder, digits, qckm_):
    digits[:900].to_csv("here.csv", index=False)
    digits.iloc[900:, ::-1].to_csv("there.csv", index=False)  # columns are known by name
    assert qckm_("project", "here.csv", "-n", 3, "-o", "here.parquet", "--save-axes", "axes.json", "-q")[0] == 0
    assert qckm_("project", "there.csv", "--axes", "axes.json", "-o", "there.parquet", "-q")[0] == 0
    axes = json.loads((folder / "axes.json").read_text())
    expected = (digits[900:] - axes["mean"]) @ np.array(axes["components"]).T
    np.testing.assert_allclose(pd.read_parquet("there.parquet"), expected, atol=1e-9)


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "number of components"),
        (("-n", 65), "at most 64 components"),
        (("-n", 3, "--axes", "axes.json"), "number of components"),
        (("--axes", "wrong.json"), "expected a file of axes"),
        (("--axes", "other.json"), "expected the column 'a'"),
    ],
)
def test_what_cannot_be_meant_is_refused(digits, qckm_, words, said):
    for name, columns in (("axes", ["a"]), ("other", ["a"])):
        facts = {"format": "qckm axes 1", "columns": columns, "mean": [0], "components": [[1]], "explained": 1}
        with open(f"{name}.json", "w") as file:
            json.dump(facts, file)
    with open("wrong.json", "w") as file:
        file.write("{}")
    code, _, err = qckm_("project", "digits.parquet", *words)
    assert code in (1, 2)
    assert said in err


def test_bad_rows_are_refused_or_skipped_and_counted(digits, qckm_):
    digits.iloc[3, 5] = np.nan
    digits.to_csv("bad.csv", index=False)
    assert qckm_("project", "bad.csv", "-n", 2)[0] == 1
    code, out, err = qckm_("project", "bad.csv", "-n", 2, "--on-bad", "skip")
    assert code == 0
    assert len(out.splitlines()) == 1 + 1796
    assert "skipped 1 bad row" in err


def test_a_sketch_that_saves_nothing_or_is_too_wide_is_told_before_the_work(digits, qckm_):
    _, _, err = qckm_("sketch", "digits.parquet", "-k", 10, "--law", "gaussian", "-o", "digits.qckm")
    assert "the sketch saves nothing; a few principal components" in err
    assert "`qckm project digits.parquet -n 10 -o narrow.parquet`" in err
    many = pd.concat([digits] * 40)
    many.to_parquet("many.parquet", compression=None, use_dictionary=False)
    _, _, err = qckm_("sketch", "many.parquet", "-k", 10, "-o", "many.qckm", "-q")
    assert "warning: 64 columns are many to decode from a sketch alone" in err
    _, _, err = qckm_("operator", "many.parquet", "-k", 10, "-o", "operator.qckm", "-q")
    assert "warning: 64 columns are many to decode from a sketch alone" in err
    _, _, err = qckm_("fit", "many.parquet", "-k", 10, "-o", "many.json")  # rows of the sample help
    assert "are many to decode" not in err
    assert qckm_("project", "digits.parquet", "-n", 10, "-o", "narrow.parquet")[0] == 0
    _, _, err = qckm_("sketch", "narrow.parquet", "-k", 10, "-o", "narrow.qckm")
    assert "saves nothing" not in err
