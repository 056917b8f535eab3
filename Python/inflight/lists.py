"""Lists of URLs in Parquet files, here or in object stores, as rows of the command."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from inflight.arrow import check_columns, json_lines
from inflight.errors import ColumnError, ListError
from inflight.inputs import ListFile
from inflight.stores import check_url, described

ROWS = 1024
"""The rows that are converted at once."""
_BUFFER = 1 << 20
"""The bytes of a column that are read at once: a file may have one row group with all of its rows."""


@dataclass(frozen=True)
class Columns:
    """The columns that the command needs."""

    url: str = "url"
    id: str | None = None
    caption: str | None = None
    others: Sequence[str] = ()
    """Columns that have to exist, whatever their type."""


@dataclass(frozen=True)
class ParquetList:
    """A Parquet file and the number of its rows."""

    path: str
    """The path or the URL."""
    rows: int
    schema: pa.Schema
    remote: ListFile | None = None

    @classmethod
    def opened(cls, file: str | ListFile, columns: Columns) -> "ParquetList":
        """Reads the footer of a file. Raises `ListError` for a file without rows, or without the columns."""
        remote = None if isinstance(file, str) else file
        path = file if isinstance(file, str) else file.name
        with _named(path), _source(path, remote) as source:
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
        try:
            check_columns(schema, columns.url, columns.id, columns.caption)
            for name in columns.others:
                if name not in schema.names:
                    raise ColumnError(f"The input has no column '{name}'. Columns: {', '.join(schema.names)}.")
            for name in schema.names:
                if schema.names.count(name) > 1:
                    raise ColumnError(f"The input has two columns '{name}'.")
        except ColumnError as error:
            raise ListError(f"{path}: {error}") from None
        if not metadata.num_rows:
            raise ListError(f"{path}: The file has no rows.")
        return cls(path if remote else os.path.abspath(path), metadata.num_rows, schema, remote)

    def lines(self) -> Iterator[bytes]:
        """Yields the rows as JSON Lines, one row group after another. Memory does not grow with their number.

        Raises `ListError` for a row group that cannot be read, after the rows before it.
        """
        # With a buffer, a column is read page by page.
        options = {"buffer_size": _BUFFER, "page_checksum_verification": True}
        with contextlib.ExitStack() as stack:
            with _named(self.path):
                source = stack.enter_context(_source(self.path, self.remote))
                file = stack.enter_context(pq.ParquetFile(source, **options))
            first = 0
            for group in range(file.num_row_groups):
                end = first + file.metadata.row_group(group).num_rows
                with _named(self.path, f"Row group {group + 1}, rows {first + 1} to {end}: "):
                    for batch in file.iter_batches(batch_size=ROWS, row_groups=[group], use_threads=False):
                        yield json_lines(batch)
                first = end
        if first != self.rows:
            raise ListError(f"{self.path}: The file has changed: it has {first} instead of {self.rows} rows.")


def common_schema(lists: Iterable[ParquetList]) -> pa.Schema | None:
    """Returns the columns of all lists, `None` without lists. Columns whose types cannot be combined are text."""
    schema = None
    for one in lists:
        schema = one.schema.remove_metadata() if schema is None else schema
        for field in one.schema.remove_metadata():
            if field.name not in schema.names:
                schema = schema.append(field)
                continue
            index = schema.get_field_index(field.name)
            try:
                both = [pa.schema([schema.field(index)]), pa.schema([field])]
                schema = schema.set(index, pa.unify_schemas(both, promote_options="permissive").field(0))
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                schema = schema.set(index, pa.field(field.name, pa.string()))
    return schema


@contextlib.contextmanager
def _source(path: str, remote: ListFile | None) -> Iterator[Any]:
    """What pyarrow opens."""
    if remote is None:
        yield path
        return
    with remote.fs.open(remote.path, "rb", block_size=8 << 20) as file:
        yield file


@contextlib.contextmanager
def _named(path: str, place: str = "") -> Iterator[None]:
    """Turns errors of reading a file into errors that name it."""
    try:
        yield
    # Arrow reports damage by errors of several kinds. Those of the system have a number.
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:
            raise ListError(f"{path}: {os.strerror(error.errno)}", cannot_open=True) from None
        raise ListError(f"{path}: {place}{' '.join(str(error).split())[:500]}") from None
    except Exception as error:
        if not check_url(path):
            raise
        raise ListError(f"{path}: {described(error, {})}", cannot_open=True) from None
