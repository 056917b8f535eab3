"""Updates of datasets: which rows a dataset has, and its files without the rows that are fetched again.

The outcomes of a shard's rows are in its sidecar or Parquet file, the classes of its failures in `00000_classes.json`.
"""

import contextlib
import io
import json
import math
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from inflight.manifest import Job, Manifest, Part
from inflight.parquet import STANDARD
from inflight.stores import DataFile, Place

IDENTITY = "_inflight_identity"
"""The column with what identifies a row."""

OUTCOMES = pa.schema([(IDENTITY, pa.string()), ("file", pa.string()), ("position", pa.int32()), ("class", pa.string())])

CLASSES, STATISTICS = "_classes.json", "_stats.json"
_SIDECAR, _PARQUET = ".jsonl.zst", ".parquet"
_GROUP_ROWS = 2048


def identity(url: str | None, id: Any) -> str:
    """Returns what two rows have in common if they have the same key: the id, or without one the URL."""
    if id is None or (isinstance(id, float) and not math.isfinite(id)):
        return f"url {(url or '').strip()}"
    return f"id {id}"


def write_classes(folder: Path) -> None:
    """Writes the classes of the failures in each shard of a finished run of the command, from its journal."""
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        names: dict[int, str] = dict(journal.execute("SELECT code, name FROM class"))
        for number, codes in journal.execute("SELECT number, classes FROM shard"):
            classes: dict[str, list[int]] = {}
            for position, code in enumerate(codes):
                if code in names:
                    classes.setdefault(names[code], []).append(position)
            (folder / f"{number:05}{CLASSES}").write_text(json.dumps(classes, separators=(",", ":")))


def tables(manifest: Manifest) -> list[str]:
    """The paths of the files that have the outcomes of a dataset's rows."""
    suffix = _PARQUET if manifest.layout == "parquet" else _SIDECAR
    return [file.path for file in manifest.files if file.path.endswith(suffix)]


def outcomes(job: Job, path: str) -> pa.RecordBatch:
    """Returns the rows of a file in the columns `OUTCOMES`. The class of a success is empty."""
    target = job.place
    column = f"input_{job.id}" if job.id in STANDARD.names else job.id
    if path.endswith(_PARQUET):
        names = ["url"] if column is None else ["url", column]
        rows = pq.read_table(io.BytesIO(target.read(path)), columns=names).to_pylist()
    else:
        rows = [json.loads(line) for line in _lines(target, path)]
    classes = [""] * len(rows)
    for name, positions in json.loads(target.read(_beside(path, CLASSES))).items():
        for position in positions:
            classes[position] = name
    identities = [identity(row["url"], row[column] if column else None) for row in rows]
    return pa.RecordBatch.from_pydict({
        IDENTITY: identities, "file": [path] * len(rows), "position": range(len(rows)), "class": classes}, OUTCOMES)


def without_rows(job: Job, path: str, positions: Collection[int], number: int, attempt: str, scratch: Path) -> Part:
    """Writes the files that describe a shard's rows again, without these rows, and adds them to the job's run.

    Failed rows have no image, so a shard's archive stays as it is. The numbers of the part are differences.
    """
    target, removed = job.place, set(positions)
    folder = f"replaced-{number:05}-attempt-{attempt}"
    (scratch / folder).mkdir()
    name = path.rpartition("/")[2]
    table = scratch / folder / name
    if path.endswith(_PARQUET):
        rows = pq.read_table(io.BytesIO(target.read(path)))
        statuses = rows["status"].to_pylist()
        kept = [position for position in range(len(statuses)) if position not in removed]
        pq.write_table(rows.take(kept), table, compression="zstd", row_group_size=_GROUP_ROWS)
    else:
        lines = _lines(target, path)
        statuses = [json.loads(line)["status"] for line in lines]
        kept = [position for position in range(len(lines)) if position not in removed]
        with pa.CompressedOutputStream(str(table), "zstd") as stream:
            stream.write(b"".join(lines[position] for position in kept))
    counts: dict[str, Any] = dict.fromkeys(("failed_to_download", "failed_to_resize"), 0)
    for position in removed:
        counts[statuses[position]] += 1
    places = {old: new for new, old in enumerate(kept)}
    classes = json.loads(target.read(_beside(path, CLASSES)))
    fewer = {key: [places[old] for old in old if old in places] for key, old in classes.items()}
    statistics = json.loads(target.read(_beside(path, STATISTICS)))
    statistics["count"] -= len(removed)
    for key, count in counts.items():
        statistics[key] -= count
    statistics["status_dict"] |= {key: len(found) for key, found in fewer.items()}
    (scratch / folder / _beside(name, CLASSES)).write_text(json.dumps({key: found for key, found in fewer.items() if found}))
    (scratch / folder / _beside(name, STATISTICS)).write_text(json.dumps(statistics))
    written = sorted((scratch / folder).iterdir())
    files = [DataFile(f"{folder}/{file.name}", file.stat().st_size) for file in written]
    for file in files:
        target.add(job.run, scratch, file.path)
    replaced = [path, _beside(path, CLASSES), _beside(path, STATISTICS)]
    return Part(-1 - number, folder, files, replaces=replaced, **{key: -count for key, count in counts.items()})


def _lines(target: Place, path: str) -> list[bytes]:
    with pa.CompressedInputStream(io.BytesIO(target.read(path)), "zstd") as stream:
        lines: list[bytes] = stream.read().splitlines(keepends=True)
        return lines


def _beside(path: str, suffix: str) -> str:
    """The path of another file of the same shard."""
    return path.removesuffix(_SIDECAR).removesuffix(_PARQUET) + suffix
