"""`qckm decode --mixture`, and what `qckm predict` makes of its models."""

import json

import numpy as np

import qckm


def test_a_mixture_is_decoded_and_predicts(qckm_, folder):
    assert qckm_("sketch", "rows.csv", "-k", 3, "--frequencies", 100, "-o", "all.qckm")[0] == 0
    code, _, err = qckm_("decode", "all.qckm", "-k", 3, "--mixture", "diag", "--rows", "rows.csv", "-o", "mixture.json")
    assert code == 0, err
    model = qckm.load_model("mixture.json")
    assert model.facts["converged"]
    np.testing.assert_allclose(model.covariances, 1, atol=0.2)
    code, out, err = qckm_("predict", "rows.csv", "-m", "mixture.json", "--score")
    assert code == 0, err
    lines = out.decode().splitlines()
    assert lines[0].replace('"', "") == "cluster,score"
    labels, scores = np.array([line.split(",") for line in lines[1:]], float).T
    X = np.load("rows.npy")
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, model.score_samples(X))


def test_without_an_output_it_is_json_on_stdout(qckm_, folder):
    assert qckm_("sketch", "rows.csv", "-k", 3, "--frequencies", 100, "-o", "all.qckm")[0] == 0
    code, out, _ = qckm_("decode", "all.qckm", "-k", 1, "--mixture", "full")
    assert code == 0
    assert np.shape(json.loads(out)["covariances"]) == (1, 2, 2)


def test_what_does_not_go_together_is_refused(qckm_, folder):
    qckm_("sketch", "rows.csv", "-k", 3, "--frequencies", 20, "-o", "all.qckm")
    code, _, err = qckm_("decode", "all.qckm", "-k", 3, "--mixture", "full", "--decoder", "clompr")
    assert code == 2
    assert "--mixture or --decoder" in err
    code, _, err = qckm_("decode", "all.qckm", "-k", 9, "--mixture", "full")
    assert code == 1
    assert "unknowns" in err
    code, _, err = qckm_("decode", "all.qckm", "-k", 3, "--mixture", "full", "-o", "model.csv")
    assert code == 2
    assert ".json, .parquet or .npz" in err
    qckm_("decode", "all.qckm", "-k", 3, "-o", "model.json")
    code, _, err = qckm_("predict", "rows.csv", "-m", "model.json", "--score")
    assert code == 2
    assert "--distance" in err
