"""A tiny grid of the paper's figures runs from end to end, resumes, and draws; what cannot be meant is refused."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from paper import __main__ as everything
from paper import figures, mnist, phase, size, spectral
from paper.published_scale import published_scale
from paper.settings import two_clusters
from paper.transition import diagrams
from qckm.operator.laws import LAWS


def refuse(*arguments):
    raise AssertionError("measured")


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


@pytest.mark.parametrize("trials", ["0", "-3", "many"])
def test_counts_below_one_are_refused(monkeypatch, capsys, trials):
    monkeypatch.setattr(everything, "quick", refuse)
    monkeypatch.setattr(sys, "argv", ["paper", "--quick", "--trials", trials])
    with pytest.raises(SystemExit, match="2"):
        everything.main()
    assert f"at least 1, got {trials}" in capsys.readouterr().err


def test_features_that_are_not_there_are_noticed_at_once(monkeypatch, capsys):
    monkeypatch.setattr(everything, "everything", refuse)
    monkeypatch.setattr(sys, "argv", ["paper", "--features", "missing.npz"])
    with pytest.raises(SystemExit, match="2"):
        everything.main()
    assert "there is none at missing.npz" in capsys.readouterr().err


def test_values_that_are_not_on_the_grid_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paper.phase", "2a", "clompr", "--only", "5"])
    with pytest.raises(SystemExit, match="2"):
        phase.main()
    assert (
        "Expected some of [2, 3, 4, 6, 8, 12, 16, 24, 32], the values of figure 2a, got [5]" in capsys.readouterr().err
    )


def test_committed_results_are_whole():
    """At least 8 values × 8 ratios × 100 trials of both figures, by CL-OMPR, both signatures."""
    for figure in ("2a", "2b"):
        for name in ("paper", "clompr"):
            found = diagrams(figure, name)
            assert set(found) == {"exponential", "one-bit"}
            for one in found.values():
                assert len(one.values) >= 8
                assert len(one.ratios) >= 8
                assert min(row.seeds.size for row in one.rows) >= 100
                assert min(row.grid.size for row in one.rows) >= 8


def test_the_published_scale_is_that_of_the_clusters():
    """In the paper's setting (a) the envelope is that of the clusters' own deviation, sqrt(n/20)."""
    n = 8
    scale = published_scale(two_clusters(n, 0), np.random.default_rng(0))
    law = LAWS["adapted-radius"]
    assert scale * np.sqrt(law.mean_square(n) / n) == pytest.approx(np.sqrt(n / 20), rel=0.05)


def test_outliers_are_those_of_tukey():
    high, low = figures.outliers(np.array([-7.0, 1.0, 1.1, 1.2, 1.3, 1.4, 9.0]))
    assert high.tolist() == [False] * 6 + [True]
    assert low.tolist() == [True] + [False] * 6


def test_sizes_are_compared_on_the_seeds_that_all_methods_have(tmp_path):
    """Without a coreset, with a size that only one method has, and a seed that only one has."""
    table = size.table_of(tmp_path)
    cells = [("subsample", seed, m) for seed in (0, 1, 2) for m in (100, 300)]
    cells += [("one-bit", seed, m) for seed in (0, 1) for m in (100, 200, 300)]
    table.append([("blobs", seed, method, m, 16 * m, 2 * m, 1 + seed) for method, seed, m in cells])
    lines = figures.draw(tmp_path, tmp_path).read_text().splitlines()
    assert "| blobs, 2 of 3 seeds | 1600 bytes | 3200 bytes | 4800 bytes |" in lines
    assert "| sketch, one bit | 1.500 (2.00) | 1.500 (2.00) | 1.500 (2.00) |" in lines
    assert "| k-means of a subsample | 1.500 (2.00) | – | 1.500 (2.00) |" in lines


def test_a_cut_experiment_of_figure_3_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "measure", lambda job: [(job[2], job[3], i, 2.0 + i, 0.5, 1.0) for i in range(5)])
    mnist.measure_method("kmeans", Path("none.npz"), experiments=3, folder=tmp_path)
    table = mnist.table_of("kmeans", tmp_path)
    whole = table.path.read_text()
    table.path.write_text(whole.replace("1,none,3,5.0,0.5,1.0\n1,none,4,6.0,0.5,1.0\n", ""))
    assert "k-means | 5 | 2 |" in figures.draw(tmp_path, tmp_path).read_text()
    mnist.measure_method("kmeans", Path("none.npz"), experiments=3, folder=tmp_path)
    assert sorted(table.path.read_text().splitlines()) == sorted(whole.splitlines())
    assert "0 high, 0 low" in figures.draw(tmp_path, tmp_path).read_text()


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
