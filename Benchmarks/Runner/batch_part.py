"""Bulk downloads: `inflight batch` beside img2dataset, and rows that fail."""

import json
import os
import resource
import shutil
import subprocess
import time

from command_part import watched
from measure import in_turns
from whole_part import AT_ONCE, QUALITY, WIDTH, write_files

OPTIONS = ["--allow-private", "--ignore-robots", "--per-host", 2 * AT_ONCE, "--concurrency", 2 * AT_ONCE, "--quiet"]


def spent(command, folder, successes):
    """Runs a command, and returns successes per second of CPU time and of wall time.

    `successes` counts them in the folder, so that failures never count as throughput.
    """
    shutil.rmtree(folder, ignore_errors=True)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"NO_ALBUMENTATIONS_UPDATE": "1"}
    process = subprocess.Popen(
        [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment,
        stderr=subprocess.DEVNULL)
    process.wait()
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} exited with status {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = successes(folder)
    return {"cpu": count / cpu, "wall": count / seconds}


def images(folder):
    """The number of images by the statistics of all shards, which both programs write alike."""
    return sum(json.loads(path.read_text())["successes"] for path in folder.glob("*_stats.json"))


def failures(folder):
    return sum(json.loads(path.read_text())["failed_to_download"] for path in folder.glob("*_stats.json"))


def write_list(bench, listed, copies):
    """Writes and returns a list of images, with several URLs of each file, because the server keeps the files open."""
    files = write_files(bench, 1000 if bench.is_quick else 2000)
    urls = [f"{url}?{copy}" for copy in range(copies) for url in files]
    listed.write_text("".join(f"{url}\n" for url in urls))
    return urls


def stream(inflight, asked, folder, *options):
    """The command that makes the images of the requests in `asked`, and writes its answers into the folder."""
    script = 'mkdir "$1" && in=$2 out=$1/answers && shift 2 && exec "$@" <"$in" >"$out"'
    return ["/bin/sh", "-c", script, "sh", folder, asked, inflight, "batch", "--stream", *options]


def write_asked(asked, urls):
    asked.write_text("".join('{"id":"%d","url":"%s"}\n' % row for row in enumerate(urls)))


def answers(folder):
    with open(folder / "answers", encoding="utf-8") as lines:
        return sum('"status":"success"' in line for line in lines)


def write_missing(bench, listed, rows):
    with open(listed, "w", encoding="utf-8") as lines:
        lines.writelines(f"{bench.plain}/none/{index}\n" for index in range(rows))


def run(bench, table):
    # The start of img2dataset, with its imports, takes much of its time for 2,000 images.
    for copies in [1] if bench.is_quick else [1, 10]:
        run_images(bench, table, copies)
    run_missing(bench, table)


def run_images(bench, table, copies):
    listed, made = bench.folder / "batch.txt", bench.folder / "batch"
    count = len(write_list(bench, listed, copies))
    shard = count // 2  # the peer starts its processes anew every few shards
    ours = [bench.inflight, "batch", listed, "-o", made, "--format", "jpeg", "--size", f"{WIDTH}x"]
    ours += ["--quality", QUALITY, "--shard-size", shard, *OPTIONS]
    sides = {"ours": lambda: spent(ours, made, images)}
    if bench.python:
        peer = [bench.python.with_name("img2dataset"), "--url_list", listed, "--output_folder", made]
        peer += ["--image_size", WIDTH, "--resize_mode", "keep_ratio_largest", "--resize_only_if_bigger", "True"]
        peer += ["--encode_quality", QUALITY, "--thread_count", AT_ONCE, "--processes_count", 2]
        peer += ["--number_sample_per_shard", shard, "--output_format", "webdataset"]
        sides["dataset"] = lambda: spent(peer, made, images)
    samples = in_turns(max(3, bench.rounds // 2), **sides)
    what = f"`inflight batch`, {count:,} JPEGs of 640 × 480 to shards of 256 wide"
    if "dataset" in samples:
        for unit, title, target in [("cpu", "images per second of CPU time", "≥ 5"), ("wall", "images per second", "")]:
            rates = [[one[unit] for one in samples[key]] for key in ("ours", "dataset")]
            table.compare(f"{what}: {title}", "/s", *rates, "img2dataset 1.47, two processes", target)
    else:
        table.add(what, "", "img2dataset: not measured; it cannot be installed")
    shutil.rmtree(made)
    table.alone(f"{what}: peak memory", "MB", [watched(ours, made)["memory"] for _ in range(3)])


def run_missing(bench, table):
    listed, made = bench.folder / "batch.txt", bench.folder / "batch"
    rows = 10_000 if bench.is_quick else 60_000
    write_missing(bench, listed, rows)
    command = [bench.inflight, "batch", listed, "-o", made, "--format", "jpeg", *OPTIONS]
    missing = in_turns(max(3, bench.rounds // 2), ours=lambda: spent(command, made, failures))["ours"]
    what = f"`inflight batch`, {rows:,} rows that end with 404"
    table.alone(f"{what}: rows per second", "/s", [one["wall"] for one in missing], "≥ 8,000")
    table.alone(f"{what}: CPU time per row", "µs", [1e6 / one["cpu"] for one in missing])
