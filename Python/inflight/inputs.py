"""Rows of lists in files and object stores, for `inflight.fetch`."""

import contextlib
import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from inflight.errors import InputError
from inflight.stores import StorageOptions, check_url, described

Row = dict[str, Any]

_BLOCK = 8 << 20
"""The bytes that are read at once."""
_ROWS = 1024


def read_rows(urls: str | Iterable[str], *, storage_options: StorageOptions | None = None) -> Iterator[Row]:
    """Yields the rows of files as mappings, in the order of the files.

    ```python
    rows = inflight.read_rows("s3://bucket/lists/*.parquet")
    for row in inflight.fetch(rows, size="256x256", format="jpeg"): ...
    ```

    A URL is that of an object, `s3://`, `gs://` or `az://`, a path, or a pattern of them, whose files are read in the
    order of their names. The format is that of the file's name: `.parquet`, `.csv` or `.tsv` with a header, `.jsonl` or
    `.ndjson`; the last four may be compressed, as `.gz` or `.zst`. Files are streamed: memory does not grow with their
    number or size. `storage_options` are those of fsspec's file system.

    Raises `InputError` at once for a file that does not exist or has no known format, and while rows are read for one
    that is malformed or cannot be read, after the rows before the error.
    """
    options = dict(storage_options or {})
    files = [file for url in ([urls] if isinstance(urls, str) else urls) for file in _files(url, options)]
    return (row for fs, path, format, name in files for row in _rows(fs, path, format, name, options))


def _files(url: str, options: dict[str, Any]) -> list[tuple[Any, str, str, str]]:
    """Returns the file system, the path, the format and the name of each file that a URL or a pattern stands for."""
    scheme = check_url(url)
    with _named(url, options):
        try:
            import fsspec
        except ImportError:
            raise InputError("Reading lists needs fsspec: pip install 'inflight-images[s3fs]'") from None
        fs, path = fsspec.core.url_to_fs(url, **options)
        if re.search(r"[*?\[]", path):
            paths = sorted(fs.glob(path))
        else:
            try:
                paths = [path] if fs.info(path)["type"] == "file" else []
            except FileNotFoundError:
                paths = []
    if not paths:
        raise InputError(f"'{url}' does not exist.")
    found = []
    for path in paths:
        name = f"{scheme}://{path}" if scheme else path
        suffix = re.search(r"\.(parquet|(?:csv|tsv|jsonl|ndjson)(?:\.gz|\.zst)?)$", path.lower())
        if not suffix:
            raise InputError(f"'{name}' has no known format. Supported: .parquet, and .csv, .tsv, .jsonl, .ndjson, "
                             "each perhaps with .gz or .zst.")
        found.append((fs, path, suffix[1], name))
    return found


def _rows(fs: Any, path: str, format: str, name: str, options: dict[str, Any]) -> Iterator[Row]:
    with _named(name, options), fs.open(path, "rb", block_size=_BLOCK) as file:
        if format == "parquet":
            yield from _parquet_rows(file)
            return
        with _decompressed(file, format) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            if format.startswith(("csv", "tsv")):
                yield from _table_rows(text, name, is_tsv=format.startswith("tsv"))
            else:
                yield from _json_rows(text, name)


def _parquet_rows(file: IO[bytes]) -> Iterator[Row]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("Reading Parquet files needs pyarrow: pip install 'inflight-images[parquet]'") from None
    # With a buffer, a column is read page by page: a file may have one row group with all of its rows.
    with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as parquet:
        for group in range(parquet.num_row_groups):
            # Of several groups at once, all would be read ahead.
            for batch in parquet.iter_batches(batch_size=_ROWS, row_groups=[group]):
                yield from batch.to_pylist()


def _decompressed(file: IO[bytes], format: str) -> IO[bytes]:
    stream: Any = file
    if format.endswith(".gz"):
        stream = gzip.open(file)
    if format.endswith(".zst"):
        import pyarrow as pa

        stream = pa.CompressedInputStream(file, "zstd")
    return cast(IO[bytes], stream)


def _table_rows(text: IO[str], name: str, is_tsv: bool) -> Iterator[Row]:
    # As in `inflight batch`, quotes have no meaning in TSV.
    lines = csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE) if is_tsv else csv.reader(text, strict=True)
    header = next(lines, None)
    if header is None:
        raise InputError(f"'{name}' has no header.")
    for values in lines:
        if len(values) == len(header):
            yield dict(zip(header, values, strict=True))
        elif values:
            raise InputError(f"'{name}', line {lines.line_num}: {len(values)} fields instead of {len(header)}.")


def _json_rows(text: IO[str], name: str) -> Iterator[Row]:
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"'{name}', line {number}: malformed JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"'{name}', line {number}: not a JSON object.")
        yield row


@contextlib.contextmanager
def _named(name: str, options: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except (InputError, GeneratorExit):
        raise
    except Exception as error:
        raise InputError(f"'{name}' cannot be read: {described(error, options)}") from None
