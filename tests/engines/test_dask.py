"""Dask on a cluster of two processes of this machine: the same bytes, whatever the partitions and whoever dies."""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

import qckm
from qckm.errors import RowsError, SourceError
from qckm.planning.held_rows import ArrayRows, draw_pilot
from qckm.sketch import files

from .conftest import NAMES, cuts

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from qckm.engines.dask import delayed_sketch, open_partitions  # noqa: E402
from qckm.engines.dask_partitions import FAN_IN  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:Sending large graph"
)


@pytest.fixture(scope="module")
def dask_client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def frame(rows):
    return pd.DataFrame(rows.copy(), columns=NAMES)


def array_of(rows, seed):
    sizes = tuple(int(stop - start) for start, stop in cuts(seed, len(rows)))
    return da.from_array(rows, chunks=(sizes, (2, 1)))


def frame_of(frame, seed):
    pieces = [frame.iloc[start:stop] for start, stop in cuts(seed, len(frame))]
    return dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=frame.iloc[:0])


def bag_of(rows, seed):
    pieces = [[tuple(row) for row in rows[start:stop]] for start, stop in cuts(seed, len(rows))]
    return db.from_delayed([dask.delayed(piece) for piece in pieces])


def test_twenty_partitionings_do_not_change_a_byte(dask_client, operator, rows, frame, expected):
    arrays = [delayed_sketch(operator, array_of(rows, seed)) for seed in range(20)]
    frames = [delayed_sketch(operator, frame_of(frame, seed)) for seed in range(20)]
    bags = [delayed_sketch(operator, bag_of(rows, seed)) for seed in range(20)]
    found = dask.compute(*arrays, *frames, *bags)
    assert [files.dumps(sketch) for sketch in found] == [expected] * 60


def test_op_sketch_and_sketch_source_take_collections(dask_client, operator, rows, frame, expected):
    wide = dd.from_pandas(frame.assign(name="x"), npartitions=3)
    assert files.dumps(operator.sketch(da.from_array(rows, chunks=999))) == expected
    assert files.dumps(operator.sketch(wide[NAMES])) == expected
    assert files.dumps(qckm.sketch_source(operator, wide)) == expected
    assert files.dumps(operator.sketch(wide)) == files.dumps(operator.sketch(wide, columns=["a", "b", "c"])) == expected


def test_a_killed_worker_does_not_change_a_byte(dask_client, operator, rows, expected):
    slow = da.from_array(rows, chunks=(75, 3)).map_blocks(lambda block: (time.sleep(0.1), block)[1], dtype=rows.dtype)
    before = dask_client.run(os.getpid)
    future = dask_client.compute(delayed_sketch(operator, slow))
    time.sleep(0.6)
    assert not future.done()
    os.kill(next(iter(before.values())), signal.SIGKILL)
    assert files.dumps(future.result(timeout=60)) == expected
    dask_client.wait_for_workers(2, timeout=60)
    assert set(dask_client.run(os.getpid).values()) != set(before.values())


def test_weights_are_repeats(dask_client, operator, rows, frame):
    weights = np.random.default_rng(2).integers(0, 4, size=len(rows))
    assert operator.sketch(rows, weights) == operator.sketch(np.repeat(rows, weights, axis=0))
    repeated = files.dumps(operator.sketch(rows, weights))
    array = da.from_array(rows, chunks=(700, 3))
    assert files.dumps(operator.sketch(array, da.from_array(weights, chunks=300))) == repeated
    assert files.dumps(operator.sketch(array, weights)) == repeated
    table = dd.from_pandas(frame.assign(w=weights), npartitions=4)
    assert files.dumps(operator.sketch(table[NAMES], table["w"])) == repeated


def test_fit_is_that_of_numpy_to_the_last_bit(dask_client, rows):
    here = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(rows)
    there = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(da.from_array(rows, chunks=(500, 2)))
    assert files.dumps(there.sketch_) == files.dumps(here.sketch_)
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    assert isinstance(there.labels_, da.Array)
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-12)


def test_fit_draws_the_pilot_across_partitions(dask_client, frame):
    """The rows are sorted by cluster: the first of 60 partitions know one cluster of three."""
    km = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(dd.from_pandas(frame, npartitions=60, sort=False))
    np.testing.assert_allclose(np.sort(km.cluster_centers_[:, 0]), [0, 9, 18], atol=0.2)
    assert km.feature_names_in_.tolist() == NAMES
    assert km.operator_.origin == pytest.approx(9.0, abs=1.5)


def test_the_pilot_is_that_of_an_array_in_whatever_partitions(dask_client, rows, frame):
    expected = draw_pilot(ArrayRows(rows, None, None), np.random.default_rng(0), 500)
    for held in (array_of(rows, 1), array_of(rows, 2), frame_of(frame, 3), bag_of(rows, 4)):
        found = draw_pilot(open_partitions(held), np.random.default_rng(0), 500)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_the_pilot_does_not_compute_all_partitions(dask_client, tmp_path):
    folder = str(tmp_path)

    def read(block, block_id=None):
        open(os.path.join(folder, str(block_id[0])), "w").close()
        return block

    X = da.from_array(np.random.default_rng(0).normal(size=(2000, 2)), chunks=(10, 2)).map_blocks(read, dtype=float)
    pilot = draw_pilot(open_partitions(X), np.random.default_rng(0))
    assert len(pilot.rows) == 32 * 10
    assert len(os.listdir(folder)) == 32


def test_predict_transform_and_score_are_those_of_numpy(dask_client, rows, frame):
    km = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(frame)
    array, table = da.from_array(rows, chunks=(400, 3)), dd.from_pandas(frame, npartitions=3)
    assert isinstance(km.predict(array), da.Array)
    np.testing.assert_array_equal(km.predict(array).compute(), km.predict(frame))
    np.testing.assert_array_equal(km.predict(table).compute(), km.predict(frame))
    np.testing.assert_allclose(km.transform(array).compute(), km.transform(frame), rtol=1e-9)
    assert km.score(table) == pytest.approx(km.score(frame), rel=1e-12)


@pytest.mark.parametrize("kind", [qckm.CompressiveKMeans, qckm.CompressiveGaussianMixture])
def test_fit_predict_labels_the_columns_that_were_chosen(dask_client, rows, kind):
    held, how = da.from_array(rows, chunks=(400, 3)), {"n_frequencies": 200, "random_state": 0}
    if kind is qckm.CompressiveKMeans:
        how["compute_labels"] = False
    found = kind(2, **how).fit_predict(held, columns=[2, 0])
    np.testing.assert_array_equal(found, kind(2, **how).fit(rows[:, [2, 0]]).predict(rows[:, [2, 0]]))


def test_partial_fit_adds_a_collection(dask_client, rows):
    km = qckm.CompressiveKMeans(3, init="pilot", random_state=0).partial_fit(da.from_array(rows, chunks=(600, 3)))
    km.partial_fit(da.from_array(rows[:100], chunks=(60, 3)))
    assert km.sketch_ == km.operator_.sketch(rows) + km.operator_.sketch(rows[:100])
    held = km._sample.pilot()
    assert len(held.rows) == 3000
    assert held.weights.sum() == 3100


def test_bad_rows_are_refused_or_counted(dask_client, operator, frame):
    frame.loc[1700, "b"] = np.nan
    table = dd.from_pandas(frame, npartitions=3, sort=False)
    with pytest.raises(RowsError, match=r"partition 1: .* row 700 .* column 'b'"):
        operator.sketch(table)
    assert qckm.sketch_source(operator, table, on_bad="skip").skipped == 1


def test_what_does_not_fit_is_refused_before_any_work(dask_client, operator, rows, frame):
    with pytest.raises(RowsError, match="Expected rows of 3 features"):
        operator.sketch(da.zeros((10, 2), chunks=5))
    with pytest.raises(RowsError, match="Expected columns a, b, c"):
        operator.sketch(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=2))
    with pytest.raises(SourceError, match=r"Expected the column\(s\) z"):
        qckm.sketch_source(operator, dd.from_pandas(frame, npartitions=2), columns=["a", "b", "z"])
    with pytest.raises(RowsError, match="one sample_weight per row"):
        operator.sketch(da.from_array(rows, chunks=500), da.ones(7, chunks=7))
    with pytest.raises(RowsError, match="empty bag"):
        operator.sketch(db.from_sequence([], npartitions=1))
    with pytest.raises(RowsError, match="should be >= n_clusters"):
        qckm.CompressiveKMeans(5).fit(da.zeros((3, 2), chunks=2))
    with pytest.raises(SourceError, match="array, data frame or bag"):
        operator.sketch(dask.delayed(rows))


def test_the_operator_is_in_the_graph_once(operator, rows):
    """A graph of 300 tasks is not 300 operators long; and results merge in a tree."""
    graph = delayed_sketch(operator, da.zeros((3000, 3), chunks=(10, 3))).dask
    shipped = [key for key in graph if str(key).startswith("qckm-job")]
    merges = [key for key in graph if str(key).startswith("qckm-merge")]
    assert len(shipped) == 1
    assert len(merges) == -(-300 // FAN_IN) + -(-300 // FAN_IN**2) + 1
