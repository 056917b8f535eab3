"""Bulk downloads on Spark and Ray beside img2dataset on the same engines, and the cost of the stream protocol."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

from batch_part import OPTIONS, answers, images, spent, stream, write_asked, write_list
from measure import in_turns, sample
from whole_part import AT_ONCE, QUALITY, WIDTH

ROOT = pathlib.Path(__file__).resolve().parents[2]


def busy():
    """The CPU time of the whole machine since its start, in seconds, without waiting and idling."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, interrupts, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def job(bench, count, *words):
    """Runs a job, and returns images per second of CPU time and of wall time.

    Engines start processes that nobody waits for, so CPU time is that of the whole machine, with the web server's.
    """
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "Python"), "INFLIGHT": str(bench.inflight.resolve()),
        "PYSPARK_PYTHON": str(bench.python), "SPARK_LOCAL_IP": "127.0.0.1", "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "NO_ALBUMENTATIONS_UPDATE": "1"}
    output = bench.folder / "cluster"
    shutil.rmtree(output, ignore_errors=True)
    before, start = busy(), time.monotonic()
    command = [bench.python, bench.source("cluster_job.py"), *words[:2], bench.folder / "cluster.txt", output]
    made = sample([*command, WIDTH, QUALITY, AT_ONCE], env=environment, stderr=subprocess.DEVNULL)["images"]
    seconds, cpu = time.monotonic() - start, busy() - before
    if made != count:
        raise SystemExit(f"bench: {' '.join(words)} made {made:.0f} of {count} images")
    return {"cpu": made / cpu, "wall": made / seconds}


def run(bench, table):
    if not bench.python or subprocess.run([bench.python, "-c", "import pyspark, ray"], check=False).returncode != 0:
        table.add("Spark and Ray", "", "not measured; they cannot be installed")
        return
    # A long list shows what remains when the start of the engines is a small part.
    sizes = [(1, 1)] if bench.is_quick else [(10, max(3, bench.rounds // 4)), (50, 1)]
    for copies, rounds in sizes:
        count = len(write_list(bench, bench.folder / "cluster.txt", copies))
        for engine in ("spark", "ray"):
            compare(bench, table, engine, count, rounds)


def compare(bench, table, engine, count, rounds):
    sides = {side: lambda side=side: job(bench, count, engine, side) for side in ("inflight", "img2dataset")}
    samples = in_turns(rounds, **sides)
    what = f"`inflight.{engine}.write_dataset`, {count:,} JPEGs of 640 × 480 to shards of 256 wide"
    for unit, title, target in [("wall", "images per second", "≥ 3"), ("cpu", "per second of CPU time", "≥ 4")]:
        rates = [[one[unit] for one in samples[side]] for side in ("inflight", "img2dataset")]
        table.compare(f"{what}: {title}", "/s", *rates, f"img2dataset 1.47 on {engine.title()}", target)


def run_stream(bench, table):
    listed, asked, made = bench.folder / "cluster.txt", bench.folder / "cluster.jsonl", bench.folder / "batch"
    urls = write_list(bench, listed, 1 if bench.is_quick else 10)
    write_asked(asked, urls)
    options = ["--format", "jpeg", "--size", f"{WIDTH}x", "--quality", QUALITY, *OPTIONS]
    plain = [bench.inflight, "batch", listed, "-o", made, "--shard-size", 1000, *options]
    streamed = stream(bench.inflight, asked, made, *options)
    environment = {"PYTHONPATH": ROOT / "Python", "INFLIGHT": bench.inflight.resolve()}
    client = ["/usr/bin/env", *(f"{name}={value}" for name, value in environment.items())]
    client += [bench.python or sys.executable, bench.source("cluster_job.py"), "client", "inflight", listed, made]
    client += [WIDTH, QUALITY, AT_ONCE]

    samples = in_turns(
        max(3, bench.rounds // 4), plain=lambda: spent(plain, made, images),
        stream=lambda: spent(streamed, made, answers), client=lambda: spent(client, made, lambda _: len(urls)))
    for side, what in [("stream", "`inflight batch --stream`"), ("client", "`inflight.fetch` in Python")]:
        costs = [[1e3 / one["cpu"] for one in samples[key]] for key in (side, "plain")]
        title = f"{what}, {len(urls):,} JPEGs of 640 × 480 to 256 wide: CPU time per image"
        table.compare(title, "ms", *costs, "`inflight batch`", "≤ 1.15" if side == "stream" else "")
