"""What comes out by HTTP: sketches, windows, models, drift; and how the collector is."""

from __future__ import annotations

import io
import time
from typing import Any

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qckm.collector import sums
from qckm.collector.database import Database
from qckm.collector.decoding import model_key
from qckm.collector.refusals import Reason, Refused
from qckm.collector.requests import SKETCH, asked_of, flag, whole
from qckm.collector.senders import Token
from qckm.collector.service import Service
from qckm.collector.sums import Asked
from qckm.collector.windows import show_time
from qckm.sketch import Sketch, SketchOperator, files


async def get_operator(request: Request, service: Service, token: Token) -> Response:
    """Return the operator, as a sketch of no rows."""
    return Response(files.dumps(service.operator.empty()), media_type=SKETCH)


async def get_sketch(request: Request, service: Service, token: Token) -> Response:
    """Return the sketch of a span and a group."""
    return Response(files.dumps(await _sketch(request, service, asked_of(request))), media_type=SKETCH)


async def get_windows(request: Request, service: Service, token: Token) -> Response:
    """Return the windows of a span and a group, with their sketches as Parquet or Arrow, without them as JSON."""
    asked, form = asked_of(request), request.query_params.get("format", "json")
    if form == "json":
        cells = await service.read(lambda db: sums.cells_of(db, asked))
        told = [
            {"group": cell.group, "start": show_time(cell.start), "seconds": cell.span, "rows": rows}
            for cell, rows in cells.items()
        ]
        return JSONResponse(told)
    if form not in ("parquet", "arrow"):
        raise Refused(Reason.BAD_REQUEST, f"Expected format json, parquet or arrow, got {form!r:.40}.")
    table = await service.read(lambda db: _table(db, service.operator, asked))
    return Response(_write(table, form), media_type="application/octet-stream")


_TIME = pa.timestamp("ms", tz="UTC")  # Parquet has no seconds
_SCHEMA = pa.schema(
    [("group", pa.string()), ("start", _TIME), ("end", _TIME), ("rows", pa.int64()), ("sketch", pa.binary())]
)


def _table(db: Database, operator: SketchOperator, asked: Asked) -> Any:
    """Return the windows of a span and a group; `sketch` holds the bytes of a .qckm file."""
    rows = [
        (cell.group, 1000 * cell.start, 1000 * cell.end, count, files.dumps(sums.sketch_of_cell(db, operator, cell)))
        for cell, count in sums.cells_of(db, asked).items()
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA)


def _write(table: Any, form: str) -> bytes:
    """Return a table as a Parquet file or an Arrow stream."""
    buffer = io.BytesIO()
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, buffer)
    else:
        with pa.ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()


async def get_model(request: Request, service: Service, token: Token) -> Response:
    """Return the centroids of a span and a group; the same sums are decoded once."""
    clusters = whole(request, "k", service.settings.clusters)
    if not 1 <= clusters <= 1000:
        raise Refused(Reason.BAD_REQUEST, f"Expected k from 1 to 1000, got {clusters}.")
    sketch = await _sketch(request, service, asked_of(request))
    return Response(await model_of(service, sketch, clusters), media_type="application/json")


async def model_of(service: Service, sketch: Sketch, clusters: int) -> bytes:
    """Return the model of a sketch, from the store if it is there."""
    if not sketch.count:
        raise Refused(Reason.NOT_FOUND, "Expected rows to find clusters in, got none in this span and group.")
    key = model_key(sketch, clusters)
    known = await service.read(lambda db: db.one("SELECT model FROM models WHERE key = ?", (key,)))
    if known is not None:
        return bytes(known[0])
    model = await service.decoder.model(sketch, clusters)
    now = int(time.time())
    insert = "INSERT INTO models (key, created, model) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING"
    await service.committer.do(lambda db: db.execute(insert, (key, now, model)))
    return model


async def get_drift(request: Request, service: Service, token: Token) -> Response:
    """Compare a span with another one, the reference, of the same group."""
    asked = asked_of(request)
    other = asked_of(request, "reference_from", "reference_to")
    if max(asked.begin, other.begin) < min(asked.end, other.end):
        raise Refused(
            Reason.BAD_REQUEST,
            "Expected two spans that do not overlap: from, to, reference_from and reference_to.",
        )
    after, before = await _sketch(request, service, asked), await _sketch(request, service, other)
    if not (after.count and before.count):
        raise Refused(Reason.NOT_FOUND, f"Expected rows in both spans, got {before.count} and {after.count}.")
    clusters = whole(request, "k", 0)
    model = await model_of(service, before, clusters) if clusters else None
    return JSONResponse(await service.decoder.drift(before, after, service.settings.drift_level, model))


async def list_parts(request: Request, service: Service, token: Token) -> Response:
    """List the parts of a span and a group, the newest first."""
    asked, most = asked_of(request), min(whole(request, "limit", 100), 10_000)
    where, values = asked.where
    columns = ("name", "grp", "start", "span", "state", "rows", "sender", "received")
    rows = await service.read(
        lambda db: db.rows(
            f"SELECT {', '.join(columns)} FROM parts WHERE {where} ORDER BY received DESC, name LIMIT ?",
            [*values, most],
        )
    )
    return JSONResponse([dict(zip(columns, row, strict=True)) | {"window": show_time(row[2])} for row in rows])


async def _sketch(request: Request, service: Service, asked: Asked) -> Sketch:
    ask = sums.private_sketch_of if flag(request, "private") else sums.sketch_of
    return await service.read(lambda db: ask(db, service.operator, asked))


async def health(request: Request) -> Response:
    """Say that the process is there."""
    return JSONResponse({"status": "up"})


async def readiness(request: Request) -> Response:
    """Say whether something that is sent now can be written."""
    service: Service = request.app.state.service
    if not await service.is_ready():
        return JSONResponse({"status": "the store cannot be written"}, 503)
    return JSONResponse({"status": "ready"})


async def get_metrics(request: Request, service: Service, token: Token) -> Response:
    """Return numbers for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
