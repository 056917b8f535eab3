"""Arrow batches as rows of the command, and results as Arrow batches."""

import base64
import collections
import json
import math
from collections.abc import Callable, Iterable, Iterator
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
"""The columns that `fetch` adds to a dataset, without their prefix."""
_ATTRIBUTES = {"error_message": "error", "bytes": "image"}


def check_columns(
    schema: pa.Schema, url: str, id: str | None, caption: str | None, fold: Callable[[str], str] = str
) -> list[str | None]:
    """Returns the names of these columns as the input has them.

    Raises `ColumnError` if a column is missing or is not text; an id may be a number. Columns with the same value of
    `fold` have the same name.
    """
    found: list[str | None] = []
    for role, wanted in (("URL", url), ("id", id), ("caption", caption)):
        if wanted is None:
            found.append(None)
            continue
        names = [name for name in schema.names if fold(name) == fold(wanted)]
        if len(names) != 1:
            number = "two columns" if names else "no column"
            raise ColumnError(f"The input has {number} '{wanted}' ({role}). Columns: {', '.join(schema.names)}.")
        type = schema.field(names[0]).type
        if not is_text(type) and not (role == "id" and is_number(type)):
            raise ColumnError(f"The column '{names[0]}' ({role}) is not text, but {type}.")
        found += names
    return found


def check_added(
    schema: pa.Schema, added: Iterable[str], remedy: str = "Rename or drop it.", fold: Callable[[str], str] = str
) -> None:
    """Raises `ColumnError` if the input has one of the columns that the output adds."""
    names = {fold(name): name for name in schema.names}
    for name in added:
        if fold(name) in names:
            raise ColumnError(f"The input has a column '{names[fold(name)]}', which the output needs. {remedy}")


def check_results(schema: pa.Schema, prefix: str, fold: Callable[[str], str] = str) -> None:
    """Raises `ColumnError` if the input has one of the columns that `fetch` adds."""
    added = results(prefix).names
    remedy = f"Give another prefix than '{prefix}'." if prefix else "Give added columns a prefix: prefix='fetched_'."
    check_added(schema, [PART], fold=fold)
    check_added(schema, added, remedy, fold)


def results(prefix: str) -> pa.Schema:
    """Returns the columns that `fetch` adds to a dataset."""
    return pa.schema([field.with_name(prefix + field.name) for field in RESULTS])


def is_number(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type):
        return is_number(type.value_type)
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))


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
    """Returns the rows as JSON Lines. Values that JSON lacks become text, NaN and infinities null.

    Text that is not UTF-8 keeps its bytes, so that the command rejects its row.
    """
    try:
        return "".join(map(_line, batch.to_pylist())).encode()
    # Text that is not UTF-8, nanoseconds, or a time that Python lacks.
    except (ValueError, OverflowError):
        columns = [(name, list(map(_plain, column))) for name, column in zip(batch.schema.names, batch, strict=True)]
        rows = ({name: values[index] for name, values in columns} for index in range(batch.num_rows))
        return b"".join(map(_bytes, rows))


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=_as_text, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_finite(row), default=_as_text) + "\n"


def _bytes(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, default=_as_text, ensure_ascii=False) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return _line(row).encode()


def _as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(scalar: pa.Scalar) -> Any:
    """Returns a value that Arrow may not be able to convert."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        if pa.types.is_dictionary(scalar.type):
            return _plain(scalar.value)
        if isinstance(scalar, pa.StructScalar):
            return {field.name: _plain(scalar[index]) for index, field in enumerate(scalar.type)}
        if isinstance(scalar, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
            return [_plain(item) for item in scalar.values]
        if is_text(scalar.type):
            return scalar.as_buffer().to_pybytes().decode("utf-8", "surrogateescape")
        return scalar.cast(pa.string()).as_py()


def fetch_batches(
    client: Client, batches: Iterable[pa.RecordBatch], url: str, prefix: str
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of the batches with `results(prefix)` added, in the order of the results."""
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
            yield from _joined(finished, prefix)
            finished, size = [], 0
    yield from _joined(finished, prefix)


def _joined(finished: list[Result], prefix: str) -> Iterator[pa.RecordBatch]:
    by_batch: dict[int, list[Result]] = {}
    for result in finished:
        by_batch.setdefault(id(result.input["batch"]), []).append(result)
    for group in by_batch.values():
        batch = group[0].input["batch"].take(pa.array([result.input["index"] for result in group]))
        for column in RESULTS:
            values = [getattr(result, _ATTRIBUTES.get(column.name, column.name)) for result in group]
            batch = batch.append_column(prefix + column.name, pa.array(values, column.type))
        yield batch
