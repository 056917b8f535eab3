"""A shard as a Parquet file."""

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from inflight.shards import image_suffix, samples

Row = dict[str, Any]

STANDARD = pa.schema([
    ("url", pa.string()), ("key", pa.string()), ("status", pa.string()), ("error_message", pa.string()),
    ("error_class", pa.string()),
    ("width", pa.int32()), ("height", pa.int32()), ("original_width", pa.int32()), ("original_height", pa.int32()),
    ("exif", pa.string()), ("sha256", pa.string()),
])
"""img2dataset's columns, and the class of a failure."""
GROUP_BYTES, GROUP_ROWS = 64 << 20, 2048
_EXTENSIONS = {"jpeg": "jpg"}


def convert(sidecar: Path, input: pa.Schema, format: str) -> Path:
    """Replaces a shard's archive and sidecar by a Parquet file with all of the shard's rows."""
    archive = _archive(sidecar)
    target, temporary = archive.with_suffix(".parquet"), archive.with_suffix(".parquet.partial")
    write(sidecar, input, format, temporary)
    temporary.rename(target)
    archive.unlink()
    sidecar.unlink()
    return target


def write(sidecar: Path, input: pa.Schema, format: str | None, target: Path) -> None:
    """Writes all rows of a shard, and its images, into a Parquet file.

    Its columns are those of a sidecar, then those of the input, then the image, named by its extension, or `image` if
    images have several formats. Columns of types that JSON lacks, such as timestamps, are text.
    """
    with target.open("wb") as file:
        schema, tables = _contents(sidecar, input, format)
        # Statistics of images would be the bytes of two of them, without a checksum.
        with pq.ParquetWriter(
            file, schema, compression="zstd", write_page_checksum=True, write_statistics=schema.names[:-1]
        ) as writer:
            for table in tables:
                writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())


def difference(sidecar: Path, input: pa.Schema, format: str | None, target: Path) -> str | None:
    """Compares a Parquet file with what `write` would write. Returns how it differs."""
    schema, tables = _contents(sidecar, input, format)
    try:
        with pq.ParquetFile(target, page_checksum_verification=True) as file:
            if file.schema_arrow != schema:
                return "Its columns differ from those of the shard."
            groups = (file.read_row_group(index) for index in range(file.num_row_groups))
            for number, (table, group) in enumerate(itertools.zip_longest(tables, groups), start=1):
                if table != group:
                    return f"Its row group {number} differs from the rows of the shard."
    except (OSError, pa.ArrowException) as error:
        return f"It cannot be read: {error}."
    return None


def _archive(sidecar: Path) -> Path:
    return sidecar.with_name(sidecar.name.removesuffix(".jsonl.zst") + ".tar")


def _contents(sidecar: Path, input: pa.Schema, format: str | None) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Returns the columns of a shard, and its rows in tables of a bounded size, each of which is a row group."""
    image = _EXTENSIONS.get(format, format) if format else "image"
    with pa.CompressedInputStream(str(sidecar), "zstd") as stream:
        rows = [json.loads(line) for line in stream.read().splitlines()]
    own = [name for name in (rows[0] if rows else ()) if name not in STANDARD.names and name != image]
    # The command renames columns of the input whose names it needs.
    known = {field.name: _portable(field.type) for field in input}
    types = {name: known.get(name.removeprefix("input_"), pa.string()) for name in own}
    schema = pa.schema([*STANDARD, *types.items(), (image, pa.binary())])

    def tables() -> Iterator[pa.Table]:
        for group in _groups(_joined(rows, samples(_archive(sidecar)), image)):
            for name, type in types.items():
                for row in group:
                    row[name] = _value(row[name], type)
            yield pa.Table.from_pylist(group, schema)

    return schema, tables()


def _joined(
    rows: Iterable[Row], samples: Iterator[tuple[str, dict[str, bytes]]], image: str
) -> Iterator[Row]:
    for row in rows:
        row[image] = None
        if row["status"] == "success":
            key, sample = next(samples)
            if key != row["key"]:
                raise ValueError(f"The archive has sample '{key}' in place of '{row['key']}'.")
            row[image] = sample[image_suffix(sample)]
        yield row


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, bytes))
        if size >= GROUP_BYTES or len(group) >= GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _portable(type: pa.DataType) -> pa.DataType:
    """The type of a column whose values were written as JSON."""
    types = pa.types
    if types.is_integer(type) or types.is_floating(type) or types.is_boolean(type):
        return type
    if types.is_list(type) or types.is_large_list(type):
        return pa.list_(_portable(type.value_type))
    if types.is_struct(type):
        return pa.struct([pa.field(field.name, _portable(field.type)) for field in type])
    return pa.string()


def _value(value: Any, type: pa.DataType) -> Any:
    if type == pa.string() and value is not None and not isinstance(value, str):
        return json.dumps(value)
    # The command keeps an id as text.
    if isinstance(value, str) and pa.types.is_integer(type):
        return int(value)
    return float(value) if isinstance(value, str) and pa.types.is_floating(type) else value
