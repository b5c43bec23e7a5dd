"""A tiny grid of the paper's figures runs from end to end, resumes, and draws; the analysis finds what is known."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from paper import figures, mnist, phase, size, spectral
from paper.published_scale import published_scale
from paper.runner import Table, run
from paper.settings import two_clusters
from paper.transition import Diagram, cost, diagrams


def square(number):
    return [(number, number**2)]


def refuse(number):
    raise AssertionError("measured twice")


def test_a_run_resumes_after_a_kill(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    run(table, [1, 2, 3], square, processes=1)
    table.path.write_text(table.path.read_text() + "4,1")  # cut off in the middle of a row
    assert table.done() == {("1",), ("2",), ("3",)}
    run(table, [number for number in (1, 2, 3, 4) if (str(number),) not in table.done()], square, processes=2)
    assert table.path.read_text() == "number,square\n1,1\n2,4\n3,9\n4,16\n"
    run(table, [number for number in (1, 2, 3, 4) if (str(number),) not in table.done()], refuse, processes=1)


def test_a_tiny_grid_from_data_to_figures(tmp_path):
    for name in ("paper", "clompr"):
        phase.measure_figure("2a", name, trials=2, only=(4,), folder=tmp_path)
    rows = phase.table_of("2a", "paper", tmp_path).read()
    assert len(rows) == 2 * 2 * len(phase.VARIANTS["paper"].ratios)
    assert {row["signature"] for row in rows} == {"exponential", "one-bit"}
    assert all(float(row["sse_over_kmeans"]) > 0.999 for row in rows)
    # Sixteen times the unknowns are enough, one is not.
    assert max(float(row["sse_over_kmeans"]) for row in rows if row["m"] == str(16 * 4 * 2)) < 1.2
    before = phase.table_of("2a", "paper", tmp_path).path.read_bytes()
    phase.measure_figure("2a", "paper", trials=2, only=(4,), folder=tmp_path)
    assert phase.table_of("2a", "paper", tmp_path).path.read_bytes() == before
    size.measure_sizes("blobs", None, 1, methods=("subsample", "coreset"), sizes=(100, 300), folder=tmp_path)
    summary = figures.draw(tmp_path, tmp_path).read_text()
    assert "Figure 2a" in summary
    assert "CL-OMPR, qckm's law and scale, one-bit" in summary
    assert "k-means of a coreset" in summary
    assert {path.name for path in tmp_path.glob("*.png")} >= {"fig2a.png", "size.png"}


def test_the_same_seed_gives_the_same_row():
    job = ("2a", "clompr", 4, 2, 7, [(24, "one-bit")])
    assert phase.measure(job) == phase.measure(job)


def diagram(line, trials=200, seed=0):
    """Return successes of a transition that is known: half of the trials at m/(nK) = line."""
    rng, ratios = np.random.default_rng(seed), np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    chance = 1 / (1 + (line / ratios) ** 6)
    luck = rng.random(trials)
    return Diagram(np.array([5]), ratios, [(luck < chance[:, np.newaxis]).astype(float)])


def test_a_known_ratio_of_transitions_is_found_within_its_interval():
    ratio, low, high = cost(diagram(3.0), diagram(2.5))
    assert low < 1.2 < high
    assert ratio == pytest.approx(1.2, rel=0.1)
    assert high / low < 1.3
    assert diagram(2.5).line()[0] == pytest.approx(2.5, rel=0.1)


def test_a_line_beyond_the_grid_is_none():
    assert np.isnan(diagram(100.0).line()).all()
    assert np.isnan(diagram(0.01).line()).all()


def test_committed_results_are_whole():
    """At least 8 values × 8 ratios × 100 trials of both figures, by CL-OMPR, both signatures."""
    for figure in ("2a", "2b"):
        for name in ("paper", "clompr"):
            found = diagrams(figure, name)
            assert set(found) == {"exponential", "one-bit"}
            for one in found.values():
                assert len(one.values) >= 8
                assert len(one.ratios) >= 8
                assert min(successes.shape[1] for successes in one.success) >= 100


def test_the_published_scale_is_that_of_the_clusters():
    """In the paper's setting (a) the envelope is that of the clusters' own deviation, sqrt(n/20)."""
    n = 8
    scale = published_scale(two_clusters(n, 0), np.random.default_rng(0))
    law = phase.qckm.frequencies.LAWS["adapted-radius"]
    assert scale * np.sqrt(law.mean_square(n) / n) == pytest.approx(np.sqrt(n / 20), rel=0.05)


def test_outliers_are_those_of_tukey():
    values = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 9.0])
    assert figures.outliers(values).tolist() == [False] * 5 + [True]


def test_idx_files_are_read(tmp_path):
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    raw = b"\0\0\x08\x03" + np.array(images.shape, ">u4").tobytes() + images.tobytes()
    (tmp_path / "plain").write_bytes(raw)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(raw))
    np.testing.assert_array_equal(spectral.read_idx(tmp_path / "plain"), images)
    np.testing.assert_array_equal(spectral.read_idx(tmp_path / "packed.gz"), images)
    (tmp_path / "other").write_bytes(b"P5 28 28")
    with pytest.raises(ValueError, match="IDX"):
        spectral.read_idx(tmp_path / "other")


def test_spectral_features_tell_digits_apart(tmp_path):
    """On scikit-learn's small digits, enlarged: k-means of features does better than of pixels. Figure 3 follows."""
    from scipy import ndimage
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits
    from sklearn.metrics import adjusted_rand_score

    digits = load_digits()
    images, labels = digits.images[:900] / 16, digits.target[:900]
    features = spectral.embed(spectral.neighbour_graph(spectral.describe(ndimage.zoom(images, (1, 3.5, 3.5), order=1))))
    assert features.shape == (900, 10)
    np.testing.assert_allclose((features**2).mean(axis=0), 1, rtol=1e-6)
    ours, pixels = (
        adjusted_rand_score(labels, KMeans(10, n_init=3, random_state=0).fit(X).labels_)
        for X in (features, images.reshape(900, -1))
    )
    assert ours > pixels + 0.1
    path = tmp_path / "digits.npz"
    np.savez(path, features=features, labels=labels)
    mnist.measure_method("kmeans", path, experiments=2, folder=tmp_path)
    mnist.measure_method("tuned", path, experiments=1, folder=tmp_path)
    rows = mnist.table_of("tuned", tmp_path).read()
    assert len(rows) == 2 * mnist.REPLICATES
    assert "k-means | 5 | 2 |" in figures.draw(tmp_path, tmp_path).read_text()
