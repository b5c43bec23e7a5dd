"""Ray in two processes of this machine: the same bytes, whatever the blocks and whichever worker exits."""

import os

import numpy as np
import pyarrow as pa
import pytest

import qckm
from qckm.errors import RowsError, SourceError
from qckm.sketch import files

from .conftest import NAMES, cuts

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::UserWarning"
    )
]


@pytest.fixture(scope="module")
def ray_cluster():
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000,
        _node_ip_address="127.0.0.2", configure_logging=False,
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table(rows):
    return pa.table({name: rows[:, place] for place, name in enumerate(NAMES)})


def test_twenty_partitionings_do_not_change_a_byte(ray_cluster, operator, table, expected):
    for seed in range(20):
        blocks = [table.slice(start, stop - start) for start, stop in cuts(seed, len(table), most=6)]
        found = operator.sketch(ray.data.from_arrow(blocks))
        assert files.dumps(found) == expected, f"partitioning {seed}"


def test_a_worker_that_exits_does_not_change_a_byte(ray_cluster, operator, table, expected, tmp_path):
    died = str(tmp_path / "died")

    def dying(block):
        if block.column("a")[0].as_py() > 9 and not os.path.exists(died):
            open(died, "w").close()
            os._exit(1)
        return block

    blocks = ray.data.from_arrow([table.slice(start, 500) for start in range(0, 3000, 500)])
    assert files.dumps(operator.sketch(blocks.map_batches(dying, batch_format="pyarrow"))) == expected
    assert os.path.exists(died)


def test_columns_weights_and_vectors(ray_cluster, operator, table, rows, expected):
    weights = np.random.default_rng(2).integers(0, 4, size=len(rows))
    wide = table.append_column("w", pa.array(weights)).append_column("name", pa.array(["x"] * len(rows)))
    dataset = ray.data.from_arrow([wide.slice(0, 1000), wide.slice(1000)])
    assert files.dumps(qckm.sketch_source(operator, dataset)) == expected
    weighted = operator.sketch(dataset.select_columns([*NAMES, "w"]), sample_weight="w")
    assert files.dumps(weighted) == files.dumps(operator.sketch(rows, weights))
    assert operator.sketch(ray.data.from_numpy(rows)) == operator.sketch(rows)
    with pytest.raises(SourceError, match=r"column\(s\) z"):
        qckm.sketch_source(operator, dataset, columns=["a", "b", "z"])


def test_bad_rows_are_refused_or_counted(ray_cluster, operator, table):
    broken = table.set_column(1, "b", pa.array([None, *table.column("b").to_pylist()[1:]]))
    with pytest.raises(RowsError, match=r"^a block: .*row 0 .* column 'b'"):
        operator.sketch(ray.data.from_arrow(broken))
    assert qckm.sketch_source(operator, ray.data.from_arrow(broken), on_bad="skip").skipped == 1


def test_fit_finds_the_clusters(ray_cluster, table):
    dataset = ray.data.from_arrow([table.slice(start, 500) for start in range(0, 3000, 500)])
    km = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(dataset)
    np.testing.assert_allclose(np.sort(km.cluster_centers_[:, 0]), [0, 9, 18], atol=0.2)
    assert km.feature_names_in_.tolist() == NAMES
