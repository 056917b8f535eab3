#!/usr/bin/env python3
"""Writes datasets on Spark and on Ray while processes are killed, and compares them with one machine.

    INFLIGHT=COMMAND stress.py [ROWS] [spark|ray|folder|store …]

After a number of requests the server has something killed: a command, the Python worker above it, or the executor or
the node above that. Spark also speculates. At the end, every row must be in the published dataset once, with the images
of `inflight batch` on one machine, and the output folder must have no other file.

In an object store, a first driver is killed, too, and the second one has the same job. Each object of the dataset must
have been uploaded once, and after `vacuum` the store must have no other.
"""

import collections
import contextlib
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading

import fsspec
import inflight
from datasets import images, on_one_machine, rows
from stores import S3
from support import COMMAND, LOCAL, Site, pids, recording

OPTIONS = LOCAL | {"size": "16x16", "format": "jpeg", "shard_size": 100, "per_host": 4}
FLAGS = ["--allow-private", "--retries", "0", "--size", "16x16", "--format", "jpeg", "--keys", "id",
         "--id-column", "id", "--per-host", "16"]
KILLS = 12
HOSTS = 250
MEMORY = 3 << 30


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def name(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def above(pid, prefix):
    """The nearest process above this one whose name begins so. Above an orphan there is none: an OSError."""
    while not name(pid).startswith(prefix):
        pid = parent(pid)
    return pid


def peak(prefix):
    """The largest resident set that a process of this name has had, in bytes."""
    found = [0]
    for path in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            values = dict(line.split(":", 1) for line in path.read_text().splitlines())
            if values["Name"].strip().startswith(prefix):
                found.append(int(values.get("VmHWM", "0").split()[0]) << 10)
    return max(found)


class Killer(threading.Thread):
    """Kills something whenever the server has served so many requests more."""

    def __init__(self, site, folder, every, victim):
        super().__init__(daemon=True)
        self.site, self.folder, self.every, self.victim = site, folder, every, victim
        self.killed, self.is_done, self.error = [], False, None

    def run(self):
        try:
            self.kill_often()
        except Exception as error:  # reported by `check`
            self.error = error

    def kill_often(self):
        while len(self.killed) < KILLS:
            with self.site.lock:
                self.site.reached.clear()
                self.site.held_after = self.site.count + self.every
            self.site.reached.wait()
            if self.is_done:
                return
            self.killed.append(self.kill())

    def stop(self):
        self.is_done = True
        self.site.reached.set()

    def kill(self):
        running = [pid for pid in pids(self.folder) if os.path.exists(f"/proc/{pid}")]
        random.shuffle(running)
        for pid in running:
            try:
                if name(pid) == "inflight":
                    return self.victim(pid)
            except OSError:
                # It has ended meanwhile, or has lost its worker.
                continue
        return "nothing"


def kill(pid):
    killed = name(pid)
    os.kill(pid, signal.SIGKILL)
    return killed


def on_spark(records, killer, out, **options):
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "ui.enabled": "false", "ui.showConsoleProgress": "false", "log.level": "OFF", "task.maxFailures": "50",
        "stage.maxConsecutiveAttempts": "50", "deploy.maxExecutorRetries": "-1", "sql.shuffle.partitions": "4",
        "speculation": "true", "speculation.quantile": "0.3", "speculation.multiplier": "1.1",
        "excludeOnFailure.enabled": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,2,1024]")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()

    def victim(pid):
        kind = random.choice(["command", "command", "worker", "executor"])
        return kill(above(pid, {"command": "inflight", "worker": "python", "executor": "java"}[kind]))

    if killer:
        killer.victim = victim
        killer.start()
    try:
        from inflight.spark import write_dataset

        frame = spark.createDataFrame(records, "id string, url string").repartition(4)
        manifest = write_dataset(frame, out, id="id", partitions=20, job="night", **options, **OPTIONS)
        return manifest, peak("java")
    finally:
        spark.stop()


def on_ray(records, killer, out, **options):
    import pyarrow as pa
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    store = 100 << 20
    # Nodes that end with this process set a signal handler, which the thread that kills cannot.
    cluster = Cluster(
        initialize_head=True, shutdown_at_exit=False, head_node_args={"num_cpus": 2, "object_store_memory": store})
    nodes = [cluster.add_node(num_cpus=2, object_store_memory=store)]
    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def victim(pid):
        kind = random.choice(["command", "command", "worker", "node"])
        if kind == "node":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=2, object_store_memory=store))
            return "node"
        return kill(above(pid, {"command": "inflight", "worker": "ray::"}[kind]))

    try:
        from inflight.ray import write_dataset

        schema = pa.schema([("id", pa.string()), ("url", pa.string())])
        tables = [pa.Table.from_pylist(records[n::8], schema) for n in range(8)]
        if killer:
            killer.victim = victim
            killer.start()
        ds = ray.data.from_arrow(tables)
        manifest = write_dataset(ds, out, id="id", partitions=20, job="night", **options, **OPTIONS)
        return manifest, peak("ray")
    finally:
        ray.shutdown()
        cluster.shutdown()


def killed_driver(engine, records, folder, site, out, options):
    """Starts a driver, and kills it after a part of the requests."""
    (folder / "driver.json").write_text(json.dumps([records, out, options]))
    with site.lock:
        site.reached.clear()
        site.held_after = site.count + len(records) // 3
    with open(folder / "driver.log", "w") as log:
        driver = subprocess.Popen([sys.executable, __file__, "driver", engine.__name__, folder / "driver.json"],
                                  stdout=log, stderr=log, start_new_session=True)
    ended = threading.Thread(target=lambda: (driver.wait(), site.reached.set()))
    ended.start()
    is_running = site.reached.wait(600) and driver.poll() is None
    driver.kill()
    ended.join()
    assert is_running, (folder / "driver.log").read_text()
    # What it has started ends by itself, but a node of Ray that has lost its driver does not.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)


def check(engine, count, kind):
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = stack.enter_context(Site(hosts=HOSTS))
        records = site.rows(count)
        keys, hashes = on_one_machine(records, folder / "one", *FLAGS)
        out, options, store = str(folder / "out"), {"command": recording(folder)}, None
        if kind == "store":
            store = stack.enter_context(S3())
            store.make_bucket()
            out = "s3://bucket/out"
            options["storage_options"] = store.options
            killed_driver(engine, records, folder, site, out, options)
        killer = Killer(site, folder, max(1, count // (KILLS + 2)), None)
        manifest, memory = engine(records, killer, out, **options)
        killer.stop()
        if killer.error:
            raise killer.error
        assert len(killer.killed) == KILLS, f"only {len(killer.killed)} of {KILLS} kills"
        credentials = store.options if store else {}
        manifest.verify(credentials)
        assert inflight.read_manifest(out, credentials) == manifest
        fs, root = fsspec.core.url_to_fs(out, use_listings_cache=False, **credentials)
        local = folder / "copy"
        for file in manifest.files:
            (local / file.path).parent.mkdir(parents=True, exist_ok=True)
            fs.get_file(f"{root}/{file.path}", str(local / file.path))
        assert rows(local.rglob("*.jsonl.zst")) == keys, "the rows differ from those of one machine"
        assert images(local.rglob("*.tar")) == hashes, "the images differ from those of one machine"
        assert manifest.rows == count
        text = "a folder"
        if store:
            inflight.vacuum(out, older_than=datetime.timedelta(), storage_options=credentials)
            uploads = collections.Counter(request.key.removeprefix("out/") for request in store.requests
                                          if request.operation in ("Put", "Create"))
            assert {uploads[file.path] for file in manifest.files} == {1}, "an object was uploaded twice"
            others = uploads.keys() - {file.path for file in manifest.files}
            text = (f"a store: {len(manifest.files)} objects uploaded once, {len(others)} of killed attempts, "
                    f"{len(store.requests)} requests, {sum(len(one.body) for one in store.requests)} bytes")
        files = {path.removeprefix(f"{root}/") for path in fs.find(root)}
        name = "manifest-000001.json" if store else "manifest.json"
        assert files == {name, *(file.path for file in manifest.files)}, "the output has other files"
        assert memory < MEMORY, f"a process had {memory >> 20} MiB"
        print(f"{engine.__name__} in {text}: {count} rows once, {len(hashes)} images as on one machine; killed: "
              f"{'a driver, ' if store else ''}{', '.join(killer.killed)}; the largest process had "
              f"{memory >> 20} MiB", flush=True)


def main(arguments):
    engines = {"on_spark": on_spark, "on_ray": on_ray}
    if arguments[:1] == ["driver"]:
        records, out, options = json.loads(pathlib.Path(arguments[2]).read_text())
        engines[arguments[1]](records, None, out, **options)
        return
    count = int(arguments[0]) if arguments else 5000
    seed = random.randrange(1 << 30)
    random.seed(seed)
    print(f"seed {seed}, command {COMMAND}", flush=True)
    for name, engine in engines.items():
        for kind in ("folder", "store"):
            chosen = {"spark", "ray"} & set(arguments[1:]) or {"spark", "ray"}
            kinds = {"folder", "store"} & set(arguments[1:]) or {"folder", "store"}
            if name.removeprefix("on_") in chosen and kind in kinds:
                check(engine, count, kind)


if __name__ == "__main__":
    main(sys.argv[1:])
