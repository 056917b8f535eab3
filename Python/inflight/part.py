"""One partition of a dataset: `inflight batch` writes its shards into a folder of this attempt."""

import itertools
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from inflight import command as commands
from inflight.arrow import json_lines
from inflight.errors import CommandFailed, DatasetError
from inflight.manifest import Job, Part
from inflight.parquet import convert
from inflight.stores import DataFile, remove_all
from inflight.update import STATISTICS

REJECTS = "rejects.jsonl"
_KEPT = (".tar", ".jsonl.zst", ".parquet", STATISTICS)
_COUNTS = ("successes", "failed_to_download", "failed_to_resize")


def write_part(job: Job, partition: int, attempt: str, per_host: int, batches: Iterable[pa.RecordBatch]) -> Part:
    """Writes the shards of a partition, and returns their names.

    The same rows may be written by several attempts at once, each into a folder of its own. If an attempt fails, the
    engine starts another one.
    """
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return Part(partition)
    name = f"part-{partition:05}-attempt-{attempt}"
    target = job.place
    target.check_is_open(job.run)
    staging = target.staging(job.run)
    if staging and job.scratch is None:
        return _write(job, partition, per_host, first, rows, staging / name)
    with tempfile.TemporaryDirectory(prefix="inflight-", dir=job.scratch) as folder:
        part = _write(job, partition, per_host, first, rows, Path(folder) / name)
        for file in part.files:
            target.add(job.run, Path(folder), file.path)
            (Path(folder) / file.path).unlink()
        return part


def _write(
    job: Job, partition: int, per_host: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], folder: Path
) -> Part:
    count = _run(job, per_host, first, rest, folder)
    sidecars = sorted(folder.glob("*.jsonl.zst"))
    totals: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
    for path in sorted(folder.glob(f"*{STATISTICS}")):
        statistics = json.loads(path.read_bytes())
        for key in _COUNTS:
            totals[key] += statistics[key]
    rejects = folder / REJECTS
    rejected = rejects.read_bytes().count(b"\n") if rejects.exists() else 0
    written = sum(totals.values()) + rejected
    if written != count:
        raise DatasetError(f"The command wrote the outcomes of {written} instead of {count} rows to '{folder}'.")
    if job.layout == "parquet":
        for sidecar in sidecars:
            convert(sidecar, first.schema, str(job.options.get("format")))
    kept = [path for path in sorted(folder.iterdir()) if path.name.endswith(_KEPT) or (rejected and path == rejects)]
    remove_all(folder, except_for={path.name for path in kept})
    files = [DataFile(f"{folder.name}/{path.name}", path.stat().st_size) for path in kept]
    return Part(partition, folder.name, files, rejected=rejected, **totals)


def _run(job: Job, per_host: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], folder: Path) -> int:
    """Runs the command on the rows, and returns their number."""
    options = job.options | {
        "input_format": "jsonl", "layout": "webdataset", "per_host": per_host, "url_column": job.url,
        "id_column": job.id, "caption_column": job.caption, "keys": "digest" if job.id is None else "id",
    }
    arguments = [commands.find(job.command), "batch", "-", "-o", str(folder), *commands.arguments(options)]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0,
        preexec_fn=commands.dies_with_parent())
    assert process.stdin and process.stderr
    tail = commands.Tail(process.stderr)
    count = 0
    try:
        for batch in itertools.chain([first], rest):
            count += batch.num_rows
            if not commands.write(process.stdin, json_lines(batch)):
                break
        process.stdin.close()
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
    if status != 0:
        raise CommandFailed(f"'{' '.join(arguments)}'", status, tail.text())
    return count
