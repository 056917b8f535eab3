"""Images of a Ray dataset: `fetch` returns them in a dataset, `write_dataset` writes shards.

Each worker runs the command `inflight` of its machine, which this package must be installed on too.
"""

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from ray.data import ActorPoolStrategy, Dataset

from inflight.arrow import PART, RESULTS, assign, check_columns, count_hosts, fetch_batches, without_part
from inflight.command import Option
from inflight.hosts import HOT, PER_HOST, HostPlan
from inflight.manifest import Job, Manifest, Part
from inflight.part import write_part
from inflight.stream import Client

ROWS_PER_PARTITION = 100_000


def fetch(
    ds: Dataset,
    *,
    url: str = "url",
    actors: int = 1,
    partitions: int | None = None,
    per_host: int = PER_HOST,
    split_hosts: bool = True,
    command: str | None = None,
    **options: Option,
) -> Dataset:
    """Returns the rows of a dataset with the columns `status`, `bytes`, `width`, `height`, `sha256` and others added.

    Each of the `actors` has one process of the command. The rows of a host go to one actor at a time, so that the whole
    cluster keeps the limit `per_host`. With `split_hosts`, this call counts the rows by host, and divides hosts with
    too many rows for one partition; each share then has a part of the limit. `partitions` is the number of partitions
    (default: four per actor, more for many rows). `command` is the path of the command on each machine. Other keyword
    arguments are options of `inflight batch --stream`.
    """
    _check(ds, url, None, None, [PART, *RESULTS.names])
    plan = _plan(ds, url, partitions or actors * 4, partitions is not None, per_host, split_hosts)
    return _grouped(ds, url, plan).map_groups(
        _Fetcher,
        fn_constructor_kwargs={"url": url, "plan": plan.json(), "command": command, "options": options},
        compute=ActorPoolStrategy(size=actors),
        batch_format="pyarrow",
    )


def write_dataset(
    ds: Dataset,
    folder: str | os.PathLike[str],
    *,
    url: str = "url",
    id: str | None = None,
    caption: str | None = None,
    layout: str = "webdataset",
    job: str | None = None,
    partitions: int | None = None,
    per_host: int = PER_HOST,
    split_hosts: bool = True,
    scratch: str | None = None,
    command: str | None = None,
    **options: Option,
) -> Manifest:
    """Writes the images of a dataset as shards, and returns the published manifest.

    Every row is in the published dataset once, however many attempts wrote it. `folder` must be empty, and on a file
    system that the driver and all machines share. Keys are made from the column `id`, or from a digest of the URL.

    `layout` is `webdataset`, or `parquet` for Parquet files with img2dataset's columns. With a name of the `job`, the
    same call returns the manifest if the job has published it, and otherwise starts over. `scratch` is a local folder
    in which tasks write shards before they copy them, for shared file systems without locks, such as NFS.
    `partitions` is the number of partitions (default: 16, more for many rows). Other parameters are those of `fetch`;
    other keyword arguments are options of `inflight batch`.
    """
    _check(ds, url, id, caption, [PART])
    started = Job.start(
        folder, job, layout, options=options, url=url, id=id, caption=caption, command=command, scratch=scratch
    )
    if isinstance(started, Manifest):
        return started
    try:
        plan = _plan(ds, url, partitions or 16, partitions is not None, per_host, split_hosts)
        parts = _grouped(ds, url, plan).map_groups(
            _write, fn_kwargs={"job": started.json(), "plan": plan.json()}, batch_format="pyarrow"
        )
        return started.commit(Part.parse(row["part"]) for row in parts.take_all())
    except BaseException:
        started.abort()
        raise


def _check(ds: Dataset, url: str, id: str | None, caption: str | None, added: list[str]) -> None:
    schema = ds.schema()
    if schema is not None:
        check_columns(pa.schema(zip(schema.names, schema.types, strict=True)), url, id, caption, added)


def _plan(ds: Dataset, url: str, partitions: int, is_exact: bool, per_host: int, split_hosts: bool) -> HostPlan:
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


def _grouped(ds: Dataset, url: str, plan: HostPlan) -> Any:
    assigned = ds.map_batches(_assign, fn_kwargs={"plan": plan.json(), "url": url}, batch_format="pyarrow")
    return assigned.groupby(PART, num_partitions=plan.partitions)


def _count(table: pa.Table, url: str) -> pa.Table:
    return pa.Table.from_batches([count_hosts(batch, url) for batch in table.to_batches()], _COUNTS)


_COUNTS = pa.schema([("host", pa.string()), ("rows", pa.int64())])


def _assign(table: pa.Table, plan: str, url: str) -> pa.Table:
    parsed = HostPlan.parse(plan)
    return pa.Table.from_batches(
        [assign(batch, parsed, url) for batch in table.to_batches()], table.schema.append(pa.field(PART, pa.int32()))
    )


def _partition(table: pa.Table) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Returns the number of a group's partition, and its batches without the column `PART`."""
    number: int = table.column(PART)[0].as_py()
    return number, (without_part(batch, number) for batch in table.to_batches(max_chunksize=1024))


class _Fetcher:
    """An actor with one process, which is replaced when a partition has another limit."""

    def __init__(self, url: str, plan: str, command: str | None, options: dict[str, Option]) -> None:
        self._url = url
        self._plan = HostPlan.parse(plan)
        self._command = command
        self._options = options
        self._limit = 0
        self._client: Client | None = None

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        number, batches = _partition(table)
        limit = self._plan.limit(number)
        if self._client is None or limit != self._limit:
            if self._client:
                self._client.close()
            self._client = Client(command=self._command, per_host=limit, **self._options)
            self._limit = limit
        for batch in fetch_batches(self._client, batches, self._url):
            yield pa.Table.from_batches([batch])


def _write(table: pa.Table, job: str, plan: str) -> pa.Table:
    number, batches = _partition(table)
    attempt = uuid.uuid4().hex[:12]
    part = write_part(Job.parse(job), number, attempt, HostPlan.parse(plan).limit(number), batches)
    return pa.table({"part": [part.json()]})
