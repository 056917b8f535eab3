"""Arrow batches as rows of the command, and results as Arrow batches."""

import base64
import collections
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from inflight.errors import ColumnError, DatasetError
from inflight.hosts import HostPlan, host
from inflight.stream import Client, Result

PART = "_inflight_part"
"""The column with the partition of a row while rows are moved."""

BATCH_BYTES, BATCH_ROWS = 32 << 20, 1024

RESULTS = pa.schema([
    ("status", pa.string()), ("error_class", pa.string()), ("error_message", pa.string()),
    ("is_transient", pa.bool_()), ("bytes", pa.binary()), ("format", pa.string()), ("width", pa.int32()),
    ("height", pa.int32()), ("original_width", pa.int32()), ("original_height", pa.int32()), ("exif", pa.string()),
    ("sha256", pa.string()),
])
"""The columns that `fetch` adds to a dataset."""
_ATTRIBUTES = {"error_message": "error", "bytes": "image"}


def check_columns(schema: pa.Schema, url: str, id: str | None, caption: str | None, added: Iterable[str]) -> None:
    """Raises `ColumnError` if a column is missing or is not text, or if the output needs its name."""
    for role, name in (("URL", url), ("id", id), ("caption", caption)):
        if name is None:
            continue
        if schema.names.count(name) != 1:
            found = "has two columns" if name in schema.names else "has no column"
            raise ColumnError(f"The input {found} '{name}' ({role}). Columns: {', '.join(schema.names)}.")
        type = schema.field(name).type
        if not is_text(type) and not (role == "id" and pa.types.is_integer(type)):
            raise ColumnError(f"The column '{name}' ({role}) is not text, but {type}.")
    for name in added:
        if name in schema.names:
            raise ColumnError(f"The input has a column '{name}', which the output needs. Rename or drop it.")


def is_text(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type):
        return is_text(type.value_type)
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or type == pa.string_view())


def assign(batch: pa.RecordBatch, plan: HostPlan, url: str) -> pa.RecordBatch:
    """Adds the partition of each row."""
    parts = [plan.partition(value) for value in batch.column(url).to_pylist()]
    return batch.append_column(PART, pa.array(parts, pa.int32()))


def count_hosts(batch: pa.RecordBatch, url: str) -> pa.RecordBatch:
    """Returns the number of rows of each host in the batch."""
    counts = collections.Counter(map(host, batch.column(url).to_pylist()))
    return pa.RecordBatch.from_pydict({"host": list(counts), "rows": pa.array(counts.values(), pa.int64())})


def without_part(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """Removes the partition of each row, which must be `number`: otherwise hosts would get more than their limit."""
    if batch.column(PART).unique().to_pylist() != [number]:
        raise DatasetError("The engine has mixed the rows of several partitions.")
    return batch.drop_columns([PART])


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Returns the rows as JSON Lines. Values that JSON lacks become text, NaN and infinities null."""
    return "".join(_line(row) for row in batch.to_pylist()).encode("utf-8", "replace")


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=_as_text, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_finite(row), default=_as_text) + "\n"


def _as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def fetch_batches(client: Client, batches: Iterable[pa.RecordBatch], url: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of the batches with `RESULTS` added, in the order of the results."""
    finished: list[Result] = []
    size = 0

    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for index, value in enumerate(batch.column(url).to_pylist()):
                yield {"url": value, "batch": batch, "index": index}

    for result in client.fetch(rows()):
        finished.append(result)
        size += len(result.image or b"")
        if size >= BATCH_BYTES or len(finished) >= BATCH_ROWS:
            yield from _joined(finished)
            finished, size = [], 0
    yield from _joined(finished)


def _joined(results: list[Result]) -> Iterator[pa.RecordBatch]:
    by_batch: dict[int, list[Result]] = {}
    for result in results:
        by_batch.setdefault(id(result.input["batch"]), []).append(result)
    for group in by_batch.values():
        batch = group[0].input["batch"].take(pa.array([result.input["index"] for result in group]))
        for column in RESULTS:
            values = [getattr(result, _ATTRIBUTES.get(column.name, column.name)) for result in group]
            batch = batch.append_column(column, pa.array(values, column.type))
        yield batch
