"""Updates of datasets: which rows a dataset has, and its files without the rows that are fetched again.

The outcomes of a shard's rows are in its sidecar or Parquet file.
"""

import collections
import io
import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from inflight.manifest import Job, Manifest, Part
from inflight.parquet import GROUP_ROWS, STANDARD
from inflight.stores import DataFile

IDENTITY = "_inflight_identity"
"""The column with what identifies a row."""

OUTCOMES = pa.schema([(IDENTITY, pa.string()), ("file", pa.string()), ("position", pa.int32()), ("class", pa.string())])

STATISTICS = "_stats.json"
_SIDECAR, _PARQUET = ".jsonl.zst", ".parquet"
_FAILURES = ("failed_to_download", "failed_to_resize")


def identity(url: str | None, id: Any) -> str:
    """Returns what two rows have in common if they have the same key: the id, or without one the URL."""
    if id is None or (isinstance(id, float) and not math.isfinite(id)):
        return f"url {(url or '').strip()}"
    return f"id {id}"


def tables(manifest: Manifest) -> list[str]:
    """The paths of the files that have the outcomes of a dataset's rows."""
    suffix = _PARQUET if manifest.layout == "parquet" else _SIDECAR
    return [file.path for file in manifest.files if file.path.endswith(suffix)]


def outcomes(job: Job, path: str) -> pa.RecordBatch:
    """Returns the rows of a file in the columns `OUTCOMES`. The class of a success is empty."""
    column = f"input_{job.id}" if job.id in STANDARD.names else job.id
    content = job.place.read(path)
    if path.endswith(_PARQUET):
        names = ["url", "error_class", *([column] if column else [])]
        rows = pq.read_table(io.BytesIO(content), columns=names).to_pylist()
    else:
        rows = [json.loads(line) for line in _lines(content)]
    return pa.RecordBatch.from_pydict({
        IDENTITY: [identity(row["url"], row[column] if column else None) for row in rows], "file": [path] * len(rows),
        "position": range(len(rows)), "class": [row["error_class"] or "" for row in rows]}, OUTCOMES)


def without_rows(job: Job, path: str, positions: Collection[int], number: int, attempt: str, scratch: Path) -> Part:
    """Writes the files that describe a shard's rows again, without these rows, and adds them to the job's run.

    Failed rows have no image, so a shard's archive stays as it is. The numbers of the part are differences.
    """
    target, removed = job.place, set(positions)
    folder = f"replaced-{number:05}-attempt-{attempt}"
    (scratch / folder).mkdir()
    name, content = path.rpartition("/")[2], target.read(path)
    if path.endswith(_PARQUET):
        table = pq.read_table(io.BytesIO(content))
        rows = table.select(["status", "error_class"]).to_pylist()
        kept = table.take(pa.array([position for position in range(len(rows)) if position not in removed], pa.int64()))
        pq.write_table(kept, scratch / folder / name, compression="zstd", row_group_size=GROUP_ROWS)
    else:
        lines = _lines(content)
        rows = [json.loads(line) for line in lines]
        with pa.CompressedOutputStream(str(scratch / folder / name), "zstd") as stream:
            stream.write(b"".join(line for position, line in enumerate(lines) if position not in removed))
    statuses, classes = (collections.Counter(rows[position][member] for position in removed)
                         for member in ("status", "error_class"))
    statistics = json.loads(target.read(_statistics(path)))
    statistics["count"] -= len(removed)
    for status in _FAILURES:
        statistics[status] -= statuses[status]
    statistics["status_dict"] = dict(collections.Counter(statistics["status_dict"]) - classes)
    (scratch / folder / _statistics(name)).write_text(json.dumps(statistics))
    files = [DataFile(f"{folder}/{file.name}", file.stat().st_size) for file in sorted((scratch / folder).iterdir())]
    for file in files:
        target.add(job.run, scratch, file.path)
    differences: dict[str, Any] = {status: -statuses[status] for status in _FAILURES}
    return Part(-1 - number, folder, files, replaces=[path, _statistics(path)], **differences)


def _lines(content: bytes) -> list[bytes]:
    with pa.CompressedInputStream(io.BytesIO(content), "zstd") as stream:
        lines: list[bytes] = stream.read().splitlines(keepends=True)
        return lines


def _statistics(path: str) -> str:
    """The path of a shard's statistics."""
    return path.removesuffix(_SIDECAR).removesuffix(_PARQUET) + STATISTICS
