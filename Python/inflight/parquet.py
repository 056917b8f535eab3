"""A shard as a Parquet file."""

import itertools
import json
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
    """Replaces a shard's archive and sidecar by a Parquet file with all of the shard's rows.

    Its columns are those of a sidecar, then those of the input, then the image, named by its extension. Columns of types
    that JSON lacks, such as timestamps, are text.
    """
    archive = sidecar.with_name(sidecar.name.removesuffix(".jsonl.zst") + ".tar")
    target, temporary = archive.with_suffix(".parquet"), archive.with_suffix(".parquet.partial")
    image = _EXTENSIONS.get(format, format)
    with pa.CompressedInputStream(str(sidecar), "zstd") as stream:
        rows = [json.loads(line) for line in stream.read().splitlines()]
    own = [name for name in (rows[0] if rows else ()) if name not in STANDARD.names and name != image]
    # The command renames columns of the input whose names it needs.
    known = {field.name: _portable(field.type) for field in input}
    types = {name: known.get(name.removeprefix("input_"), pa.string()) for name in own}
    schema = pa.schema([*STANDARD, *types.items(), (image, pa.binary())])
    with tarfile.open(archive, "r|") as tar, temporary.open("wb") as file:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in _groups(_joined(rows, _samples(tar), image)):
                for name, type in types.items():
                    for row in group:
                        row[name] = _value(row[name], type)
                writer.write_table(pa.Table.from_pylist(group, schema))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(target)
    archive.unlink()
    sidecar.unlink()
    return target


def _samples(tar: tarfile.TarFile) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The samples of an archive, each with its members by extension."""
    members = ((*member.name.partition(".")[::2], tar.extractfile(member)) for member in tar)
    contents = ((key, suffix, file.read()) for key, suffix, file in members if file)
    for key, group in itertools.groupby(contents, key=lambda member: member[0]):
        yield key, {suffix: content for _, suffix, content in group}


def _joined(
    rows: Iterable[Row], samples: Iterator[tuple[str, dict[str, bytes]]], image: str
) -> Iterator[Row]:
    for row in rows:
        row[image] = None
        if row["status"] == "success":
            key, sample = next(samples)
            if key != row["key"]:
                raise ValueError(f"The archive has sample '{key}' in place of '{row['key']}'.")
            row[image] = sample[image]
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
