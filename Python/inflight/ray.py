"""Images of a Ray dataset: `fetch` returns them in a dataset, `write_dataset` and `update_dataset` write shards.

Each worker runs the command `inflight` of its machine, which this package must be installed on too.
"""

import os
import pickle
import tempfile
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
from ray.data import ActorPoolStrategy, Dataset

from inflight.arrow import (
    PART, assign, check_added, check_columns, check_results, count_hosts, fetch_batches, without_part)
from inflight.command import Option
from inflight.errors import CommandFailed
from inflight.hosts import HOT, PER_HOST, ROWS_PER_PARTITION, HostPlan
from inflight.manifest import Job, Manifest, Part
from inflight.part import write_part
from inflight.stores import StorageOptions
from inflight.stream import RESTARTS, Client
from inflight.update import IDENTITY, OUTCOMES, identity, outcomes, tables, without_rows

BUCKETS, MAXIMUM_BUCKETS = 4, 1000
"""The smallest and the largest number of groups in which rows are compared with those of a dataset."""
OUTCOME = pa.struct(list(OUTCOMES))


def fetch(
    ds: Dataset, *, url: str = "url", prefix: str = "", actors: int = 1, partitions: int | None = None,
    per_host: int = PER_HOST, split_hosts: bool = True, command: str | None = None, **options: Option,
) -> Dataset:
    """Returns the rows of a dataset with the columns `status`, `bytes`, `width`, `height`, `sha256` and others added.

    Up to `actors` actors have one process of the command each. `partitions` is the number of partitions (default: four
    per actor, more for many rows). Other parameters are those of `inflight.spark.fetch`. Names are compared with case.
    """
    if schema := _schema(ds):
        check_columns(schema, url, None, None)
        check_results(schema, prefix)
    plan = _plan(ds, url, partitions or actors * 4, partitions is not None, per_host, split_hosts)
    fetched: Dataset = _grouped(ds, url, plan).map_groups(
        _Fetcher,
        fn_constructor_kwargs={"url": url, "prefix": prefix, "plan": plan, "command": command, "options": options},
        # A pool of a fixed size may take all processors from the tasks that produce its rows.
        compute=ActorPoolStrategy(min_size=1, max_size=actors),
        batch_format="pyarrow",
    )
    return fetched


def write_dataset(
    ds: Dataset, folder: str | os.PathLike[str], *, url: str = "url", id: str | None = None,
    caption: str | None = None, layout: str = "webdataset", job: str | None = None, partitions: int | None = None,
    per_host: int = PER_HOST, split_hosts: bool = True, scratch: str | None = None, command: str | None = None,
    storage_options: StorageOptions | None = None, unsafe_single_driver: bool = False, **options: Option,
) -> Manifest:
    """Writes the images of a dataset as shards, and returns the published manifest.

    Parameters are those of `inflight.spark.write_dataset`. `partitions` is 16 by default, and more for many rows.
    """
    if schema := _schema(ds):
        check_columns(schema, url, id, caption)
        check_added(schema, [PART])
    started = Job.start(
        folder, job, layout, storage_options, unsafe_single_driver, options=options, url=url, id=id, caption=caption,
        command=command, scratch=scratch)
    if isinstance(started, Manifest):
        return started
    try:
        return started.commit(_written(ds, started, partitions, per_host, split_hosts))
    except BaseException:
        started.abort()
        raise


def update_dataset(
    ds: Dataset, folder: str | os.PathLike[str], *, retry: Collection[str] = (), job: str | None = None,
    partitions: int | None = None, per_host: int = PER_HOST, split_hosts: bool = True, scratch: str | None = None,
    command: str | None = None, storage_options: StorageOptions | None = None, unsafe_single_driver: bool = False,
    header: str | Sequence[str] | None = None,
) -> Manifest:
    """Fetches the rows that a published dataset lacks, and those whose failures have a class among `retry`.

    Parameters are those of `inflight.spark.update_dataset`. The rows to fetch are kept in Ray's object store.
    """
    started, base = Job.update(
        folder, job, storage_options, unsafe_single_driver, options={"header": header}, command=command,
        scratch=scratch)
    if started is None:
        return base
    try:
        schema = _schema(ds)
        if schema is None:
            return started.commit([])
        check_columns(schema, started.url, started.id, started.caption)
        check_added(schema, [PART, IDENTITY])
        files = tables(base)
        number = min(MAXIMUM_BUCKETS, max(BUCKETS, len(files)))
        candidates = ds.map_batches(
            _identified, fn_kwargs={"url": started.url, "id": started.id, "number": number}, batch_format="pyarrow")
        if files:
            known = ray.data.from_items([{"path": path} for path in files], override_num_blocks=len(files))
            candidates = candidates.union(known.map_batches(
                _known, fn_kwargs={"job": started, "schema": schema, "number": number}, batch_format="pyarrow"))
        chosen = candidates.groupby(PART, num_partitions=number).map_groups(
            _chosen, fn_kwargs={"again": set(retry)}, batch_format="pyarrow").materialize()
        replaced: list[Part] = []
        if retry:
            positions = chosen.map_batches(_positions, batch_format="pyarrow")
            replaced = _parts(positions.groupby("file", num_partitions=number).map_groups(
                _replace, fn_kwargs={"job": started, "files": files}, batch_format="pyarrow"))
        lacking = chosen.map_batches(_lacking, batch_format="pyarrow").materialize()
        written = _written(lacking, started, partitions, per_host, split_hosts) if lacking.count() else []
        return started.commit([*replaced, *written])
    except BaseException:
        started.abort()
        raise


def _written(ds: Any, job: Job, partitions: int | None, per_host: int, split_hosts: bool) -> list[Part]:
    plan = _plan(ds, job.url, partitions or 16, partitions is not None, per_host, split_hosts)
    settings = {"job": job, "plan": plan}
    return _parts(_grouped(ds, job.url, plan).map_groups(_write, fn_kwargs=settings, batch_format="pyarrow"))


def _parts(ds: Any) -> list[Part]:
    return [pickle.loads(row["part"]) for row in ds.take_all()]


def _identified(table: pa.Table, url: str, id: str | None, number: int) -> pa.Table:
    """Adds the identity of each row, and its bucket of so many. Rows of one identity are compared in one bucket."""
    urls = table.column(url).to_pylist()
    ids = table.column(id).to_pylist() if id else [None] * len(urls)
    identities = [{IDENTITY: identity(*row)} for row in zip(urls, ids, strict=True)]
    return _with_buckets(table, pa.array(identities, OUTCOME), number)


def _known(table: pa.Table, job: Job, schema: pa.Schema, number: int) -> Iterator[pa.Table]:
    """The outcomes of a dataset's rows, beside empty columns of the input."""
    for path in table.column("path").to_pylist():
        rows = outcomes(job, path).to_struct_array()
        empty = pa.Table.from_arrays([pa.nulls(len(rows), type) for type in schema.types], schema.names)
        yield _with_buckets(empty, rows, number)


def _with_buckets(table: pa.Table, rows: pa.StructArray, number: int) -> pa.Table:
    buckets = [zlib.crc32(value.encode()) % number for value in rows.field(IDENTITY).to_pylist()]
    return table.append_column(IDENTITY, rows).append_column(PART, pa.array(buckets, pa.int32()))


def _chosen(table: pa.Table, again: set[str]) -> pa.Table:
    """The rows to fetch of a bucket, and those of the dataset that they replace."""
    rows = table.column(IDENTITY).to_pylist()
    wanted = {row[IDENTITY] for row in rows if row["file"] is None}
    done = {row[IDENTITY] for row in rows if row["file"] is not None and row["class"] not in again}
    fetched = wanted - done
    return table.filter(pa.array([row[IDENTITY] in fetched for row in rows], pa.bool_()))


def _positions(table: pa.Table) -> pa.Table:
    rows = table.column(IDENTITY).combine_chunks()
    return pa.Table.from_arrays([rows.field("file"), rows.field("position")], ["file", "position"]).drop_null()


def _lacking(table: pa.Table) -> pa.Table:
    is_known = pc.is_valid(pc.struct_field(table.column(IDENTITY), "file"))
    return table.filter(pc.invert(is_known)).drop_columns([IDENTITY, PART])


def _replace(table: pa.Table, job: Job, files: list[str]) -> pa.Table:
    """Writes a file of the dataset without these rows. Returns what replaces it."""
    path, positions = table.column("file")[0].as_py(), set(table.column("position").to_pylist())
    with tempfile.TemporaryDirectory(prefix="inflight-", dir=job.scratch) as scratch:
        part = without_rows(job, path, positions, files.index(path), uuid.uuid4().hex[:12], Path(scratch))
    return pa.table({"part": [pickle.dumps(part)]})


def _schema(ds: Dataset) -> pa.Schema | None:
    """Returns the columns of a dataset, `None` if it has no rows."""
    schema = ds.schema()
    return None if schema is None else pa.schema(zip(schema.names, schema.types, strict=True))


def _plan(ds: Any, url: str, partitions: int, is_exact: bool, per_host: int, split_hosts: bool) -> HostPlan:
    if not split_hosts:
        return HostPlan(partitions, per_host)
    rows = ds.count()
    number = partitions if is_exact else max(partitions, -(-rows // ROWS_PER_PARTITION))
    hot: dict[str, int] = {}
    if per_host > 1 and rows:
        counts = ds.select_columns([url]).map_batches(_count, fn_kwargs={"url": url}, batch_format="pyarrow")
        hosts = counts.groupby("host").sum("rows")
        least = max(1, HOT * (rows // number))
        hot = {row["host"]: row["sum(rows)"] for row in hosts.iter_rows() if row["sum(rows)"] >= least}
    return HostPlan.balanced(number, per_host, rows, hot)


def _grouped(ds: Any, url: str, plan: HostPlan) -> Any:
    assigned = ds.map_batches(_assign, fn_kwargs={"plan": plan, "url": url}, batch_format="pyarrow")
    return assigned.groupby(PART, num_partitions=plan.partitions)


def _count(table: pa.Table, url: str) -> pa.Table:
    schema = pa.schema([("host", pa.string()), ("rows", pa.int64())])
    return pa.Table.from_batches([count_hosts(batch, url) for batch in table.to_batches()], schema)


def _assign(table: pa.Table, plan: HostPlan, url: str) -> pa.Table:
    schema = table.schema.append(pa.field(PART, pa.int32()))
    return pa.Table.from_batches([assign(batch, plan, url) for batch in table.to_batches()], schema)


def _partition(table: pa.Table) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Returns the number of a group's partition, and its batches without the column `PART`."""
    number: int = table.column(PART)[0].as_py()
    return number, (without_part(batch, number) for batch in table.to_batches(max_chunksize=1024))


class _Fetcher:
    """An actor with one process, which is replaced when a partition has another limit."""

    def __init__(
        self, url: str, prefix: str, plan: HostPlan, command: str | None, options: dict[str, Any]
    ) -> None:
        self._url, self._prefix, self._plan, self._limit = url, prefix, plan, 0
        self._settings: dict[str, Any] = {"command": command, **options}
        self._client: Client | None = None

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        number, batches = _partition(table)
        limit = self._plan.limit(number)
        if self._client is None or limit != self._limit:
            if self._client:
                self._client.close()
            self._client = Client(per_host=limit, **self._settings)
            self._limit = limit
        for batch in fetch_batches(self._client, batches, self._url, self._prefix):
            yield pa.Table.from_batches([batch])


def _write(table: pa.Table, job: Job, plan: HostPlan) -> pa.Table:
    for attempts in range(RESTARTS, -1, -1):
        number, batches = _partition(table)
        try:
            part = write_part(job, number, uuid.uuid4().hex[:12], plan.limit(number), batches)
            return pa.table({"part": [pickle.dumps(part)]})
        except CommandFailed as failure:
            # Ray repeats the tasks of workers that died, but not tasks that raise.
            if failure.status >= 0 or not attempts:
                raise
    raise AssertionError
