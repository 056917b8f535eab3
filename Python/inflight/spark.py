"""Images of a Spark DataFrame: `fetch` returns them in a DataFrame, `write_dataset` writes shards.

Each task runs the command `inflight` of its machine, which this package must be installed on too.
"""

import itertools
import os
import pickle
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from inflight.arrow import (
    PART, assign, check_added, check_columns, check_results, count_hosts, fetch_batches, results, without_part)
from inflight.command import Option
from inflight.hosts import PER_HOST, ROWS_PER_PARTITION, HostPlan
from inflight.manifest import Job, Manifest, Part, read_manifest
from inflight.part import write_part
from inflight.stores import StorageOptions
from inflight.stream import Client
from inflight.update import IDENTITY, OUTCOMES, identity, outcomes, tables, without_rows

Batches = Iterator[pa.RecordBatch]

MAXIMUM_HOT = 10_000


def fetch(
    df: DataFrame, *, url: str = "url", prefix: str = "", partitions: int | None = None, per_host: int = PER_HOST,
    split_hosts: bool = True, command: str | None = None, **options: Option,
) -> DataFrame:
    """Returns the rows of a DataFrame with the columns `status`, `bytes`, `width`, `height`, `sha256` and others added.

    The names of added columns begin with `prefix`, for input that has such columns. Names are compared as Spark does:
    without case, unless `spark.sql.caseSensitive` is set.

    Each row is fetched whenever the result is evaluated: write it, or persist it, before using it twice.

    The rows of a host are in one partition, so that the whole cluster keeps the limit `per_host`. With `split_hosts`,
    this call counts the rows by host, and divides hosts with too many rows for one partition; each share then has a
    part of the limit. `partitions` is their number (default: one per core, more for many rows). `command` is the path
    of the command on each machine. Other keyword arguments are options of `inflight batch --stream`.
    """
    schema, fold = to_arrow_schema(df.schema), _fold(df)
    column = check_columns(schema, url, None, None, fold)[0] or url
    check_results(schema, prefix, fold)
    plan = _plan(df, column, partitions, per_host, split_hosts)
    settings: dict[str, Any] = {"command": command, **options}

    def fetched(batches: Batches) -> Batches:
        number, rows = _partition(batches)
        if number is not None:
            with Client(per_host=plan.limit(number), **settings) as client:
                yield from fetch_batches(client, rows, column, prefix)

    return _placed(df, column, plan).mapInArrow(fetched, _extended(df, results(prefix)))


def write_dataset(
    df: DataFrame, folder: str | os.PathLike[str], *, url: str = "url", id: str | None = None,
    caption: str | None = None, layout: str = "webdataset", job: str | None = None, partitions: int | None = None,
    per_host: int = PER_HOST, split_hosts: bool = True, scratch: str | None = None, command: str | None = None,
    storage_options: StorageOptions | None = None, unsafe_single_driver: bool = False, **options: Option,
) -> Manifest:
    """Writes the images of a DataFrame as shards, and returns the published manifest.

    Every row is in the published dataset once, however many attempts wrote it. `folder` must be empty: a path on a file
    system that the driver and all machines share, or a URL such as `s3://bucket/dir`, with the `storage_options` of
    fsspec's file system for it. Keys are made from the column `id`, or from a digest of the URL.

    `layout` is `webdataset`, or `parquet` for Parquet files with img2dataset's columns. With a name of the `job`, the
    same call returns the manifest if the job has published it, and otherwise starts over. Tasks write to the local
    folder `scratch` first, if the shared file system has no locks, and before uploads, by default to that of temporary
    files. `unsafe_single_driver` accepts stores that cannot tell which of two drivers was first. Other parameters are
    those of `fetch`; other keyword arguments are options of `inflight batch`.
    """
    schema, fold = to_arrow_schema(df.schema), _fold(df)
    found, id, caption = check_columns(schema, url, id, caption, fold)
    url = found or url
    check_added(schema, [PART], fold=fold)
    started = Job.start(
        folder, job, layout, storage_options, unsafe_single_driver, options=options, url=url, id=id, caption=caption,
        command=command, scratch=scratch)
    if isinstance(started, Manifest):
        return started
    try:
        _write(df, started, url, partitions, per_host, split_hosts)
    except BaseException:
        started.abort()
        raise
    return read_manifest(folder, storage_options)


def _write(
    df: DataFrame, job: Job, url: str, partitions: int | None, per_host: int, split_hosts: bool,
    replaced: Sequence[Part] = (),
) -> None:
    plan = _plan(df, url, partitions, per_host, split_hosts)
    source = _dataset(job, plan, replaced)
    df.sparkSession.dataSource.register(source)
    _placed(df, url, plan).write.format(source.name()).mode("append").save()


def update_dataset(
    df: DataFrame, folder: str | os.PathLike[str], *, retry: Collection[str] = (), job: str | None = None,
    partitions: int | None = None, per_host: int = PER_HOST, split_hosts: bool = True, scratch: str | None = None,
    command: str | None = None, storage_options: StorageOptions | None = None, unsafe_single_driver: bool = False,
    header: str | Sequence[str] | None = None,
) -> Manifest:
    """Fetches the rows of a DataFrame that a dataset lacks, and those whose failures have a class among `retry`.

    Publishes the next manifest over the old and the new shards, and returns it. Rows are compared by the column of the
    dataset's ids, or by URL. Columns and options are those of the dataset; only the option `header`, which may have
    credentials, is not stored. Other parameters are those of `write_dataset`.
    """
    started, base = Job.update(
        folder, job, storage_options, unsafe_single_driver, options={"header": header}, command=command,
        scratch=scratch)
    if started is None:
        return base
    try:
        schema, fold = to_arrow_schema(df.schema), _fold(df)
        url, id, _ = check_columns(schema, started.url, started.id, started.caption, fold)
        check_added(schema, [PART, IDENTITY], fold=fold)
        known = _outcomes(df.sparkSession, started, tables(base))
        again = F.col("class").isin(list(retry))
        done = known.filter(~again).select(IDENTITY).distinct()
        rows = _identified(df, url or started.url, id)
        lacking = rows.join(done, IDENTITY, "left_anti")
        retried = known.filter(again).join(done, IDENTITY, "left_anti").join(rows, IDENTITY, "left_semi")
        replaced = _replaced(retried, started) if retry else []
        missing = lacking.select(*(F.col(f"`{name}`") for name in df.columns))
        _write(missing, started, url or started.url, partitions, per_host, split_hosts, replaced)
    except BaseException:
        started.abort()
        raise
    return read_manifest(folder, storage_options)


def _outcomes(session: SparkSession, job: Job, paths: list[str]) -> DataFrame:
    """Returns the outcomes of a dataset's rows, read by tasks."""

    def read(batches: Batches) -> Batches:
        return (outcomes(job, path) for batch in batches for path in batch.column("path").to_pylist())

    files = session.createDataFrame([(path,) for path in paths], "path string")
    tasks = max(1, min(len(paths), session.sparkContext.defaultParallelism * 4))
    return files.repartition(tasks).mapInArrow(read, from_arrow_schema(OUTCOMES))


def _identified(df: DataFrame, url: str, id: str | None) -> DataFrame:
    def identified(batches: Batches) -> Batches:
        for batch in batches:
            urls = batch.column(url).to_pylist()
            ids = batch.column(id).to_pylist() if id else [None] * len(urls)
            yield batch.append_column(IDENTITY, pa.array(map(identity, urls, ids), pa.string()))

    return df.mapInArrow(identified, _extended(df, pa.schema([(IDENTITY, pa.string())])))


def _replaced(retried: DataFrame, job: Job) -> list[Part]:
    """Writes the files that have these rows without them. Returns what replaces them."""

    def replaced(batches: Batches) -> Batches:
        context = TaskContext.get()
        for batch in batches:
            for row in batch.to_pylist():
                with tempfile.TemporaryDirectory(prefix="inflight-", dir=job.scratch) as scratch:
                    attempt = str(context.taskAttemptId()) if context else "0"
                    part = without_rows(job, row["file"], row["positions"], row["number"], attempt, Path(scratch))
                yield pa.RecordBatch.from_pydict({"part": [pickle.dumps(part)]})

    files = retried.groupBy("file").agg(F.collect_set("position").alias("positions"))
    numbered = files.withColumn("number", F.row_number().over(Window.orderBy("file")))
    tasks = retried.sparkSession.sparkContext.defaultParallelism
    found = numbered.repartition(tasks).mapInArrow(replaced, "part BINARY").collect()
    return [pickle.loads(row["part"]) for row in found]


def _fold(df: DataFrame) -> Callable[[str], str]:
    """Returns what names of columns are compared by."""
    is_exact = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    return str if is_exact else str.lower


def _plan(df: DataFrame, url: str, partitions: int | None, per_host: int, split_hosts: bool) -> HostPlan:
    cores = df.sparkSession.sparkContext.defaultParallelism
    if not split_hosts:
        return HostPlan(partitions or cores, per_host)

    def counted(batches: Batches) -> Batches:
        return (count_hosts(batch, url) for batch in batches)

    counts = df.select(F.col(f"`{url}`")).mapInArrow(counted, "host STRING, rows LONG")
    # The row without a host has the total. Fewer hosts than partitions can be hot.
    most = counts.rollup("host").agg(F.sum("rows").alias("rows")).orderBy(F.desc("rows")).limit(MAXIMUM_HOT + 1)
    hosts = {row["host"]: row["rows"] or 0 for row in most.collect()}
    rows = hosts.pop(None, 0)
    return HostPlan.balanced(partitions or max(cores, -(-rows // ROWS_PER_PARTITION)), per_host, rows, hosts)


def _placed(df: DataFrame, url: str, plan: HostPlan) -> DataFrame:
    """Moves each row to its partition, whose number is in the column `PART`."""

    def assigned(batches: Batches) -> Batches:
        return (assign(batch, plan, url) for batch in batches)

    schema = _extended(df, pa.schema([(PART, pa.int32())]))
    return df.mapInArrow(assigned, schema).repartitionById(plan.partitions, PART)


def _extended(df: DataFrame, columns: pa.Schema) -> StructType:
    return StructType([*df.schema.fields, *from_arrow_schema(columns).fields])


def _partition(batches: Batches) -> tuple[int | None, Batches]:
    """Returns the number of a task's partition, `None` if it is empty, and its batches without the column `PART`."""
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return None, iter(())
    number: int = first.column(PART)[0].as_py()
    return number, (without_part(batch, number) for batch in itertools.chain([first], rows))


@dataclass
class _Committed(WriterCommitMessage):
    part: Part


class _Writer(DataSourceArrowWriter):
    """`write` runs in each attempt of a task, `commit` and `abort` for the driver."""

    def __init__(self, job: Job, plan: HostPlan, replaced: Sequence[Part]) -> None:
        self._job = job
        self._plan = plan
        self._replaced = replaced

    def write(self, iterator: Batches) -> _Committed:
        context = TaskContext.get()
        number, rows = _partition(iterator)
        if number is None or context is None:
            return _Committed(Part(0))
        return _Committed(write_part(self._job, number, str(context.taskAttemptId()), self._plan.limit(number), rows))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        parts = [message.part for message in messages if isinstance(message, _Committed)]
        self._job.commit([*self._replaced, *parts])

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._job.abort()


def _dataset(job: Job, plan: HostPlan, replaced: Sequence[Part]) -> type[DataSource]:
    """Returns a data source that can only be written.

    The job is in its class, not in an option, because Spark shows options, and jobs may have credentials.
    """

    class Dataset(DataSource):
        @classmethod
        def name(cls) -> str:
            return f"inflight-{job.run}"

        def writer(self, schema: StructType, overwrite: bool) -> _Writer:
            return _Writer(job, plan, replaced)

    return Dataset
