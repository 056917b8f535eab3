"""One partition of a dataset: `inflight batch` writes its shards into a folder of this attempt."""

import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa

from inflight import command as commands
from inflight.arrow import json_lines
from inflight.errors import CommandFailed, DatasetError
from inflight.manifest import DataFile, Job, Part
from inflight.parquet import convert

REJECTS = "rejects.jsonl"
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
    target = job.staging / name
    if job.scratch is None:
        _check(job)
        return _write(job, partition, per_host, first, rows, target)
    with tempfile.TemporaryDirectory(prefix="inflight-", dir=job.scratch) as folder:
        part = _write(job, partition, per_host, first, rows, Path(folder) / name)
        _check(job)
        try:
            shutil.copytree(Path(folder) / name, target)
        except (OSError, shutil.Error) as error:
            raise DatasetError(f"The shards cannot be copied to '{target}': {error}") from error
        return part


def _check(job: Job) -> None:
    # Creating it again would hide that the files of other partitions are lost.
    if not job.staging.is_dir():
        raise DatasetError(f"The output folder has lost '{job.staging}', or this machine does not see it.")


def _write(
    job: Job, partition: int, per_host: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], folder: Path
) -> Part:
    if folder.exists():
        shutil.rmtree(folder)
    count = _run(job, per_host, first, rest, folder)
    sidecars = sorted(folder.glob("*.jsonl.zst"))
    totals = dict.fromkeys(_COUNTS, 0)
    for path in sorted(folder.glob("*_stats.json")):
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
            convert(sidecar, first.schema, str(job.options.get("format")), job.caption is not None)
    files = []
    for path in sorted(folder.iterdir()):
        is_kept = path.name.endswith((".tar", ".jsonl.zst", ".parquet", "_stats.json"))
        if is_kept or (path.name == REJECTS and rejected):
            files.append(DataFile(f"{folder.name}/{path.name}", path.stat().st_size))
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return Part(partition, folder.name, files, rejected=rejected, **totals)


def _run(job: Job, per_host: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], folder: Path) -> int:
    """Runs the command on the rows, and returns their number."""
    options = job.options | {
        "input_format": "jsonl", "layout": "webdataset", "per_host": per_host, "url_column": job.url,
        "id_column": job.id, "caption_column": job.caption, "keys": "digest" if job.id is None else "id",
    }  # fmt: skip
    arguments = [commands.find(job.command), "batch", "-", "-o", str(folder), *commands.arguments(options)]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
    )
    assert process.stdin and process.stderr
    tail = commands.Tail(process.stderr)
    count = 0
    try:
        for batch in itertools.chain([first], rest):
            count += batch.num_rows
            if not _feed(process.stdin, json_lines(batch)):
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


def _feed(stream: IO[bytes], lines: bytes) -> bool:
    """Returns false if the process has ended early. Its status tells why."""
    rest = memoryview(lines)
    try:
        while rest:
            rest = rest[stream.write(rest) or 0 :]
    except BrokenPipeError:
        return False
    return True
