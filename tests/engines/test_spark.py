"""Spark in this process's own JVM: the same bytes, whatever the partitions and whichever task fails."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import RowsError, SourceError
from qckm.planning.held_rows import draw_pilot
from qckm.sketch import files

from .conftest import NAMES, cuts

pyspark = pytest.importorskip("pyspark")
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from qckm.engines import jobs  # noqa: E402
from qckm.engines.spark import SparkPartitions  # noqa: E402
from qckm.engines.spark_ml import CompressiveKMeans, CompressiveKMeansModel  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::UserWarning"
)


@pytest.fixture(scope="module")
def table(rows):
    return pa.table({name: rows[:, place] for place, name in enumerate(NAMES)})


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
    """The rows in four files, four partitions, with a weight and a name beside the columns."""
    folder = tmp_path_factory.mktemp("parquet")
    weights = np.random.default_rng(2).integers(0, 4, size=len(table))
    wide = table.append_column("w", pa.array(weights)).append_column("name", pa.array(["x"] * len(table)))
    for part in range(4):
        pq.write_table(wide.slice(part * 750, 750), folder / f"{part}.parquet")
    return spark.read.parquet(str(folder))


def test_twenty_partitionings_do_not_change_a_byte(spark, operator, table, expected, tmp_path):
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for part, (start, stop) in enumerate(cuts(seed, len(table), most=6)):
            pq.write_table(table.slice(start, stop - start), folder / f"{part:02}.parquet")
        found = operator.sketch(spark.read.parquet(str(folder)))
        assert files.dumps(found) == expected, f"partitioning {seed}"


def test_a_failed_task_does_not_change_a_byte(spark, operator, frame, expected, tmp_path):
    """A worker process dies in the middle of its partition, at the first attempt; Spark starts the task again."""
    died = str(tmp_path / "died")

    def dying(batches):
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and pyspark.TaskContext.get().partitionId() == 2 and not os.path.exists(died):
                open(died, "w").close()
                os._exit(1)

    columns = frame.select(NAMES)
    assert files.dumps(operator.sketch(columns.mapInArrow(dying, columns.schema))) == expected
    assert os.path.exists(died)


def test_columns_are_the_operators_or_those_asked_for(operator, frame, expected):
    assert files.dumps(qckm.sketch_source(operator, frame)) == expected
    other = qckm.SketchOperator.draw(1, 10, 1.0, random_state=0)
    assert qckm.sketch_source(other, frame, columns=["b"]).count == 3000
    with pytest.raises(SourceError, match=r"columns of numbers, got name \(string\)"):
        qckm.sketch_source(other, frame, columns=["name"])
    assert files.dumps(operator.sketch(frame.select("c", "b", "a"))) == expected
    with pytest.raises(RowsError, match="Expected columns a, b, c"):
        operator.sketch(frame.select("c", "b", "w"))


def test_weights_are_repeats(operator, frame, rows):
    weights = np.random.default_rng(2).integers(0, 4, size=len(rows))
    found = operator.sketch(frame.select(*NAMES, "w"), sample_weight="w")
    assert found == operator.sketch(np.repeat(rows, weights, axis=0))
    assert files.dumps(found) == files.dumps(operator.sketch(rows, weights))


def test_bad_rows_are_named_or_counted(operator, frame):
    broken = frame.withColumn("b", F.when(F.col("b") > 20.5, None).otherwise(F.col("b")))
    bad = frame.where("b > 20.5").count()
    assert bad > 0
    with pytest.raises(RowsError, match=r"^partition \d: .*, column 'b'"):
        operator.sketch(broken.select(NAMES))
    assert qckm.sketch_source(operator, broken, on_bad="skip").skipped == bad


def test_the_pilot_looks_into_some_partitions_only(spark, tmp_path, monkeypatch):
    folder = str(tmp_path)

    def read(batches):
        open(os.path.join(folder, str(pyspark.TaskContext.get().partitionId())), "w").close()
        yield from batches

    monkeypatch.setattr(jobs, "SAMPLED_PARTS", 3)
    many = spark.range(0, 600, 1, 6).select(F.col("id").cast("double"))
    pilot = draw_pilot(SparkPartitions(many.mapInArrow(read, many.schema)), np.random.default_rng(0))
    assert sorted(os.listdir(folder)) in (["0", "2", "4"], ["1", "3", "5"])
    assert len(pilot.rows) == 300


@pytest.fixture(scope="module")
def fitted(frame):
    return CompressiveKMeans(k=3, inputCols=NAMES, seed=1).fit(frame)


def test_the_estimator_adds_a_prediction_column(fitted, frame, rows):
    np.testing.assert_allclose(sorted(center[0] for center in fitted.clusterCenters()), [0, 9, 18], atol=0.2)
    found = fitted.transform(frame)
    assert found.columns == [*frame.columns, "prediction"]
    labelled = np.array(found.select(*NAMES, "prediction").collect())
    np.testing.assert_array_equal(labelled[:, 3], fitted.model.predict(labelled[:, :3]))
    assert fitted.sketch.count == 3000


def test_the_model_saves_and_loads_without_pickle(fitted, frame, tmp_path):
    path = str(tmp_path / "model")
    fitted.write().overwrite().save(path)
    loaded = CompressiveKMeansModel.load(path)
    np.testing.assert_array_equal(loaded.clusterCenters(), fitted.clusterCenters())
    assert files.dumps(loaded.sketch) == files.dumps(fitted.sketch)
    assert (loaded.uid, loaded.getK(), loaded.getInputCols()) == (fitted.uid, 3, NAMES)
    assert loaded.transform(frame).where("prediction > 2").count() == 0
    held = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    assert not [name for name in held if "pkl" in name or "pickle" in name]


def test_vectors_pipelines_and_parameters(fitted, frame, tmp_path):
    """A column of vectors gives the sketch that the columns give; estimators save, load and copy."""
    estimator = CompressiveKMeans(k=3, seed=1, nFrequencies=100, predictionCol="cluster")
    estimator.save(str(tmp_path / "estimator"))
    again = CompressiveKMeans.load(str(tmp_path / "estimator"))
    assert again.extractParamMap() == estimator.extractParamMap()
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=NAMES, outputCol="features"), again])
    model = pipeline.fit(frame)
    assert model.stages[1].sketch == fitted.sketch
    model.write().overwrite().save(str(tmp_path / "pipeline"))
    found = PipelineModel.load(str(tmp_path / "pipeline")).transform(frame)
    assert found.select("cluster").distinct().count() == 3


def test_weights_and_bad_rows_of_the_estimator(frame):
    broken = frame.withColumn("b", F.when(F.col("b") > 20.5, float("nan")).otherwise(F.col("b")))
    estimator = CompressiveKMeans(k=3, inputCols=NAMES, weightCol="w", handleInvalid="skip", scale=2.0)
    model = estimator.fit(broken)
    assert model.sketch.count == broken.where("not isnan(b)").agg(F.sum("w")).first()[0]
    assert model.sketch.skipped == broken.where("isnan(b)").count()
    with pytest.raises(RowsError, match="column 'b'"):
        estimator.setParams(handleInvalid="error").fit(broken)


def test_the_scikit_learn_face_fits_a_spark_frame(frame):
    km = qckm.CompressiveKMeans(3, init="pilot", random_state=0).fit(frame.select(NAMES))
    np.testing.assert_allclose(np.sort(km.cluster_centers_[:, 0]), [0, 9, 18], atol=0.2)
    with pytest.raises(SourceError, match=r"qckm\.engines\.spark_ml"):
        km.predict(frame.select(NAMES))
