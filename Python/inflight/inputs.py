"""Rows of lists in files and object stores, for `inflight.fetch`."""

import contextlib
import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, cast

from inflight.errors import InputError
from inflight.stores import StorageOptions, check_url, described

Row = dict[str, Any]

_BLOCK = 8 << 20
"""The bytes that are read at once."""
_ROWS = 1024
_FORMATS = {"parquet": "parquet", "csv": "csv", "tsv": "tsv", "jsonl": "json", "ndjson": "json", "json": "json",
            "txt": "text", "list": "text"}
"""The formats by the suffixes of names, as the command calls them."""


@dataclass(frozen=True)
class ListFile:
    """A file with rows, in an object store or here."""

    name: str
    """Its URL or path, for messages."""
    format: str
    compression: str = ""
    fs: Any = field(default=None, repr=False)
    path: str = ""
    options: StorageOptions = field(default_factory=dict, repr=False)

    @contextlib.contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The content of the file, decompressed. Errors within the `with` statement become `InputError`."""
        with named(self.name, self.options), self.fs.open(self.path, "rb", block_size=_BLOCK) as file:
            stream: Any = file
            if self.compression == "gz":
                stream = gzip.open(file)
            if self.compression == "zst":
                import pyarrow as pa

                stream = pa.CompressedInputStream(file, "zstd")
            yield cast(IO[bytes], stream)


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
    files = list_files([urls] if isinstance(urls, str) else urls, storage_options or {})
    for file in files:
        if file.format == "text" or file.name.lower().endswith(".json"):
            raise unknown(file.name)
    return (row for file in files for row in _rows(file))


def unknown(name: str) -> InputError:
    return InputError(f"'{name}' has no known format. Supported: .parquet, and .csv, .tsv, .jsonl, .ndjson, each "
                      "perhaps with .gz or .zst.")


def list_files(urls: Iterable[str], options: StorageOptions, format: str | None = None) -> list[ListFile]:
    """Returns the files that URLs, paths and patterns stand for, in the order of their names.

    Raises `InputError` for one that does not exist or, unless `format` is that of all, has no known one.
    """
    return [file for url in urls for file in _matches(url, dict(options), format)]


def _matches(url: str, options: dict[str, Any], format: str | None) -> Iterator[ListFile]:
    scheme = check_url(url)
    with named(url, options):
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
    for path in paths:
        name = f"{scheme}://{path}" if scheme and "://" not in path else path
        suffix = re.search(r"\.([a-z]+)(?:\.(gz|zst))?$", path.lower())
        found = format or (suffix and _FORMATS.get(suffix[1]))
        compression = suffix[2] or "" if suffix else ""
        if not found or found == "parquet" and compression:
            raise unknown(name)
        yield ListFile(name, found, compression, fs, path, options)


def content(files: Sequence[ListFile], has_header: bool) -> Iterator[bytes]:
    """Yields the content of files as that of one file, for the command. Tables have equal headers, if any."""
    header = b""
    for file in files:
        with file.opened() as stream:
            reader = io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
            first = reader.readline()
            if has_header:
                found = first.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
                if header and found != header:
                    raise InputError(f"'{file.name}' has another header than '{files[0].name}'.")
                first = b"" if header else first
                header = found
            block = first
            while True:
                yield block
                last, block = block[-1:] or b"\n", reader.read(1 << 20)
                if not block:
                    break
            if last != b"\n":
                yield b"\n"


def _rows(file: ListFile) -> Iterator[Row]:
    with file.opened() as stream:
        if file.format == "parquet":
            yield from _parquet_rows(stream)
            return
        with io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            if file.format in ("csv", "tsv"):
                yield from _table_rows(text, file.name, is_tsv=file.format == "tsv")
            else:
                yield from _json_rows(text, file.name)


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
def named(name: str, options: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except (InputError, GeneratorExit):
        raise
    except Exception as error:
        raise InputError(f"'{name}' cannot be read: {described(error, options)}") from None
