"""Bulk downloads on Spark and Ray beside img2dataset on the same engines, and the cost of the stream protocol."""

import os
import pathlib
import shutil
import subprocess
import time

from batch_part import images, spent
from measure import in_turns, sample
from whole_part import AT_ONCE, QUALITY, WIDTH, write_files

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
    count = 2000 if bench.is_quick else 20_000
    urls = write_files(bench, count)
    (bench.folder / "cluster.txt").write_text("".join(f"{url}\n" for url in urls))
    rounds = max(3, bench.rounds // 4)
    for engine in ("spark", "ray"):
        sides = {side: lambda side=side: job(bench, count, engine, side) for side in ("inflight", "img2dataset")}
        samples = in_turns(rounds, **sides)
        what = f"`inflight.{engine}.write_dataset`, {count:,} JPEGs of 640 × 480 to shards of 256 wide"
        for unit, title, target in [("wall", "images per second", "≥ 3"), ("cpu", "per second of CPU time", "≥ 4")]:
            rates = [[one[unit] for one in samples[side]] for side in ("inflight", "img2dataset")]
            table.compare(f"{what}: {title}", "/s", *rates, f"img2dataset 1.47 on {engine.title()}", target)
    run_stream(bench, table, count, rounds)


def run_stream(bench, table, count, rounds):
    listed, made = bench.folder / "cluster.txt", bench.folder / "batch"
    options = ["--format", "jpeg", "--size", f"{WIDTH}x", "--quality", QUALITY, "--allow-private", "--ignore-robots"]
    options += ["--per-host", 2 * AT_ONCE, "--concurrency", 2 * AT_ONCE]
    plain = [bench.inflight, "batch", listed, "-o", made, "--shard-size", 1000, "--quiet", *options]
    asked = bench.folder / "cluster.jsonl"
    asked.write_text("".join('{"url":"%s"}\n' % url for url in listed.read_text().split()))
    script = 'mkdir "$1" && in=$2 out=$1/answers && shift 2 && exec "$@" <"$in" >"$out"'
    stream = ["/bin/sh", "-c", script, "sh", made, asked, bench.inflight, "batch", "--stream", *options]
    client = {"PYTHONPATH": str(ROOT / "Python"), "INFLIGHT": str(bench.inflight.resolve())}
    python = ["/usr/bin/env", *(f"{name}={value}" for name, value in client.items()), bench.python]
    python += [bench.source("cluster_job.py"), "client", "inflight", listed, made, WIDTH, QUALITY, AT_ONCE]

    def answers(folder):
        with open(folder / "answers", encoding="utf-8") as lines:
            return sum('"status":"success"' in line for line in lines)

    samples = in_turns(
        rounds, plain=lambda: spent(plain, made, images), stream=lambda: spent(stream, made, answers),
        client=lambda: spent(python, made, lambda _: count))
    for side, what in [("stream", "`inflight batch --stream`"), ("client", "`inflight.fetch` in Python")]:
        costs = [[1e3 / one["cpu"] for one in samples[key]] for key in (side, "plain")]
        title = f"{what}, {count:,} of these images: CPU time per image"
        table.compare(title, "ms", *costs, "`inflight batch`", "≤ 1.15" if side == "stream" else "")
