"""The estimator and the model of pyspark.ml: `CompressiveKMeans().setK(10).fit(df).transform(df)`, and in pipelines.

Both save and load without pickle: parameters as Spark's JSON, the model as ours and the sketch as a .qckm file in a
Parquet table of one row, so that any file system that Spark knows will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped,unused-ignore]  # its stubs may be installed
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasHandleInvalid,
    HasInputCols,
    HasPredictionCol,
    HasSeed,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf

from qckm import models
from qckm.common.arrays import Floats
from qckm.engines.spark import SparkPartitions, array_of, by_name, require_numbers
from qckm.errors import SourceError
from qckm.estimators import kmeans as estimator
from qckm.sketch import Sketch, files


class _CompressiveKMeansParams(HasFeaturesCol, HasInputCols, HasPredictionCol, HasSeed, HasWeightCol, HasHandleInvalid):
    """What the estimator and its model share. `inputCols`, columns of numbers, go before `featuresCol`, of vectors."""

    k: Param[int] = Param(Params._dummy(), "k", "number of clusters", TypeConverters.toInt)
    signature: Param[str] = Param(Params._dummy(), "signature", "'one-bit', 'exponential', …", TypeConverters.toString)
    nFrequencies: Param[int] = Param(
        Params._dummy(), "nFrequencies", "number of frequencies; unset: 5·n·K", TypeConverters.toInt
    )
    scale: Param[float] = Param(
        Params._dummy(), "scale", "the kernel's length; unset: from a pilot of 5000 rows", TypeConverters.toFloat
    )
    law: Param[str] = Param(Params._dummy(), "law", "law of the frequencies", TypeConverters.toString)
    decoder: Param[str] = Param(Params._dummy(), "decoder", "'auto', 'matched' or 'clompr'", TypeConverters.toString)
    nInit: Param[int] = Param(Params._dummy(), "nInit", "replicates of the decoder", TypeConverters.toInt)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            k=8, signature="one-bit", law="auto", decoder="auto", nInit=1, seed=0, handleInvalid="error",
            featuresCol="features", predictionCol="prediction",
        )  # fmt: skip

    def _columns(self) -> list[str] | str:
        """Return the columns, as `SparkPartitions` takes them."""
        return self.getInputCols() if self.isSet(self.inputCols) else self.getFeaturesCol()

    def getK(self) -> int:
        """Return the number of clusters."""
        return self.getOrDefault(self.k)


class CompressiveKMeans(Estimator, _CompressiveKMeansParams, DefaultParamsReadable, DefaultParamsWritable):
    """K-means from a sketch, as an estimator of pyspark.ml: one pass besides the pilot, and no row is moved.

    Parameters
    ----------
    k, seed, featuresCol, predictionCol, weightCol
        As in `pyspark.ml.clustering.KMeans`.
    inputCols : list of str
        Columns of numbers; then no column of vectors is needed.
    signature, nFrequencies, scale, law, decoder, nInit
        As in `qckm.CompressiveKMeans`; nFrequencies and scale are chosen where they are not set.
    handleInvalid : {"error", "skip"}
        What to do with rows that hold a null, a NaN or an infinity, when fitting.
    """

    @keyword_only
    def __init__(
        self,
        *,
        k: int = 8,
        inputCols: list[str] | None = None,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        weightCol: str | None = None,
        signature: str = "one-bit",
        nFrequencies: int | None = None,
        scale: float | None = None,
        law: str = "auto",
        decoder: str = "auto",
        nInit: int = 1,
        handleInvalid: str = "error",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._set(**{name: value for name, value in self._input_kwargs.items() if value is not None})

    def setParams(self, **given: object) -> CompressiveKMeans:
        """Set parameters by name."""
        return self._set(**given)

    def _fit(self, dataset: DataFrame) -> CompressiveKMeansModel:
        on_bad: Any = self.getHandleInvalid()
        if on_bad not in ("error", "skip"):
            raise SourceError(f"Expected handleInvalid 'error' or 'skip', got {on_bad!r}.")
        weight = self.getWeightCol() if self.isSet(self.weightCol) else None
        held = SparkPartitions(dataset, self._columns(), weight=weight)
        km = estimator.CompressiveKMeans(
            self.getK(),
            signature=self.getOrDefault(self.signature),
            n_frequencies=self.getOrDefault(self.nFrequencies) if self.isSet(self.nFrequencies) else "auto",
            scale=self.getOrDefault(self.scale) if self.isSet(self.scale) else "auto",
            law=self.getOrDefault(self.law),
            decoder=self.getOrDefault(self.decoder),
            n_init=self.getOrDefault(self.nInit),
            compute_labels=False,
            random_state=self.getSeed() % 2**63,
        )
        km.fit_partitions(held, on_bad)
        return self._copyValues(CompressiveKMeansModel(km.to_model(), km.sketch_))


class CompressiveKMeansModel(Model, _CompressiveKMeansParams, MLWritable, MLReadable):
    """Centroids, and the sketch they were decoded from: `transform` adds a column, the nearest centroid's number."""

    def __init__(self, model: models.Model | None = None, sketch: Sketch | None = None) -> None:
        super().__init__()
        self._model, self._sketch = model, sketch

    @property
    def model(self) -> models.Model:
        """The centroids as a `qckm.Model`."""
        assert self._model is not None
        return self._model

    @property
    def sketch(self) -> Sketch:
        """The sketch: merge it with others' and decode again with `qckm.decode`."""
        assert self._sketch is not None
        return self._sketch

    def clusterCenters(self) -> list[Floats]:
        """Return the centroids, the heaviest first."""
        return list(self.model.centers)

    def clusterWeights(self) -> Floats:
        """Return the centroids' shares of the rows."""
        return self.model.weights

    def _transform(self, dataset: DataFrame) -> DataFrame:
        columns, data = self._columns(), models.to_json(self.model)
        if isinstance(columns, str):
            picked = [array_of(dataset, columns)]
        else:
            require_numbers(dataset.schema, columns)
            picked = [by_name(name).cast("double") for name in columns]

        @pandas_udf("int")
        def predict(*series: pd.Series) -> pd.Series:  # Spark reads these types
            return _predict(data, series)

        return dataset.withColumn(self.getPredictionCol(), predict(*picked))

    def write(self) -> _ModelWriter:
        """Return what writes the model: `model.write().overwrite().save(path)`."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> _ModelReader:
        """Return what reads a model: `CompressiveKMeansModel.load(path)`."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, model: CompressiveKMeansModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        """Write parameters, then the model and its sketch."""
        spark = SparkSession.builder.getOrCreate()
        DefaultParamsWriter.saveMetadata(self._model, path, _context(spark))
        row = (models.to_json(self._model.model).decode(), bytearray(files.dumps(self._model.sketch)))
        spark.createDataFrame([row], "model string, sketch binary").coalesce(1).write.parquet(f"{path}/data")


class _ModelReader(MLReader):
    def load(self, path: str) -> CompressiveKMeansModel:
        """Read a model."""
        spark = SparkSession.builder.getOrCreate()
        metadata = DefaultParamsReader.loadMetadata(path, _context(spark))
        row = spark.read.parquet(f"{path}/data").first()
        model = CompressiveKMeansModel(models.read_model(row.model.encode(), path), files.loads(bytes(row.sketch)))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _context(spark: SparkSession) -> Any:
    """Return what this pyspark's helpers want: the session, or before Spark 4 its context."""
    return spark if int(spark.version.split(".")[0]) >= 4 else spark.sparkContext


def _predict(model: bytes, series: tuple[pd.Series, ...]) -> pd.Series:
    first = series[0]
    if len(series) == 1 and first.dtype == object:
        rows = np.stack([np.asarray(row, np.float64) for row in first]) if len(first) else np.empty((0, 1))
    else:
        rows = np.column_stack([np.asarray(column, np.float64) for column in series])
    if not len(rows):
        return pd.Series([], dtype="int32")
    return pd.Series(models.read_model(model, "model").nearest(rows, n_jobs=1)[0])
