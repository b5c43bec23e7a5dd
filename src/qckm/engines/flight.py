"""An Arrow Flight endpoint: batches that anybody puts there are added to the sums of streams, each once.

A writer names its stream by the path of its descriptor, and gives every batch a number as metadata. The number comes
back when the batch is in the file: a writer that hears nothing sends it again. `do_get` gives the table of sketches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq

from qckm.engines.streams import StreamSums
from qckm.errors import QckmError, SourceError
from qckm.sketch import group_tables

_LONGEST = 20  # digits of a number


class FlightSums(flight.FlightServerBase):
    """The server: `FlightSums(sums).serve()`. It asks nobody who they are: for a network that one trusts.

    Parameters
    ----------
    sums : StreamSums
    location : str
        Where to listen; port 0 is any that is free (`server.port`).
    """

    def __init__(self, sums: StreamSums, location: str = "grpc://127.0.0.1:0") -> None:
        super().__init__(location)
        self._sums = sums

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Add the batches of a stream; answer each with its number."""
        stream = "/".join(part.decode("utf-8", "replace") for part in descriptor.path)
        if not stream:
            raise flight.FlightServerError("Expected a descriptor with a path, the name of the stream.")
        try:
            for chunk in reader:
                text = b"" if chunk.app_metadata is None else chunk.app_metadata.to_pybytes()
                if not text.isdigit() or len(text) > _LONGEST:
                    raise SourceError(f"Expected the number of a batch as its metadata, got {text[:40]!r}.")
                if chunk.data is not None:
                    self._sums.add(stream, int(text), pa.Table.from_batches([chunk.data]))
                writer.write(pa.py_buffer(text))
        except QckmError as error:
            raise flight.FlightServerError(str(error)) from error

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Give the table of sketches."""
        data = group_tables.dumps(self._sums.sketches())
        return flight.RecordBatchStream(pq.read_table(pa.BufferReader(data)))


def put(location: str, stream: str, batches: Iterable[tuple[int, pa.RecordBatch]]) -> int:
    """Send numbered batches to an endpoint, and wait for each to be in the file; return the number of the last.

    Examples
    --------
    >>> import os, tempfile, pyarrow as pa, qckm
    >>> op = qckm.SketchOperator.draw(1, 20, scale=1.0, random_state=0, feature_names=["x"])
    >>> batch = pa.record_batch({"day": [1, 1], "x": [0.0, 1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sums = StreamSums(op, os.path.join(folder, "sums.parquet"), by=["day"])
    ...     with FlightSums(sums) as server:
    ...         last = put(f"grpc://127.0.0.1:{server.port}", "sensor", [(0, batch), (1, batch), (1, batch)])
    ...     last, sums.sketches()[1].count
    (1, 4)
    """
    last, writer = -1, None
    with flight.connect(location) as client:
        for number, batch in batches:
            if writer is None:
                writer, reader = client.do_put(flight.FlightDescriptor.for_path(stream), batch.schema)
            writer.write_with_metadata(batch, str(number).encode())
            answer = reader.read()
            if answer is None:
                break  # closing says why
            last = int(answer.to_pybytes())
        if writer is not None:
            writer.close()
    return last
