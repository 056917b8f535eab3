"""Two builds of Inflight beside each other, this one and that of another clone: did a change make it slower?"""

import pathlib
import re
import shutil
import subprocess

import batch_part
import whole_part
from batch_part import OPTIONS
from command_part import our_get, watched
from disk_part import BYTES, on
from http_part import instructions
from measure import in_turns, sample
from whole_part import AT_ONCE, QUALITY, WIDTH

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["--size", f"{WIDTH}x", "--format", "jpeg", "--quality", QUALITY]


class Build:
    """The programs of a clone in which `make build` and the benchmarks have been built."""

    def __init__(self, folder):
        self.inflight, self.stress = (folder / ".build/release" / name for name in ("inflight", "inflight-stress"))
        self.benchmarks = folder / "Benchmarks/.build/release"
        for program in (self.inflight, self.stress, self.benchmarks / "HTTPSpeed"):
            if not program.exists():
                raise SystemExit(f"bench: {program} is missing; run `make build` and `swift build -c release "
                                 f"--package-path Benchmarks` in {folder}")


class Builds:
    def __init__(self, bench, table):
        self.bench, self.table = bench, table
        self.new, self.old = Build(ROOT), Build(bench.against)
        self.name = subprocess.run(
            ["git", "-C", bench.against, "describe", "--always"], capture_output=True, text=True, check=False).stdout.strip()
        self.few = max(3, bench.rounds // 2)

    def compare(self, what, rounds, measure, **figures):
        """Measures both builds by turns; a single round has no warm-up.

        `figures` are the columns of a sample to compare, with their title and unit, and optionally a factor.
        """
        sides = {"new": lambda: measure(self.new), "old": lambda: measure(self.old)}
        samples = in_turns(rounds, **sides) if rounds > 1 else {side: [once()] for side, once in sides.items()}
        for column, (title, unit, *factor) in figures.items():
            values = [[one[column] * (factor[0] if factor else 1) for one in samples[side]] for side in sides]
            self.table.compare(f"{what}: {title}", unit, *values, self.name or "the other build")


def run(bench, table):
    if not bench.against:
        raise SystemExit("bench: the part `builds` needs --against FOLDER, a clone with the other build")
    builds = Builds(bench, table)
    run_library(builds)
    run_engine(builds)
    run_get(builds)
    run_batch(builds)
    run_disk(builds)


def protocols(bench):
    return [("HTTP/1.1", bench.plain, []), ("HTTP/2", bench.tls, ["--cacert", bench.certificate])]


def run_library(builds):
    bench = builds.bench
    for protocol, base, trust in protocols(bench):
        builds.compare(
            f"library, a load over {protocol}", bench.rounds,
            lambda build: sample([build.benchmarks / "HTTPSpeed", base, bench.count, "--at-once", 64, *trust]),
            cpu=("CPU time", "µs", 1e6 / bench.count), seconds=("wall time", "µs", 1e6 / bench.count))
    builds.compare(
        "library, a load over HTTP/1.1", 1,
        lambda build: {"count": instructions(bench, build.benchmarks / "HTTPSpeed", "--at-once", 64)},
        count=("instructions", ""))


def run_engine(builds):
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []

    def engine(build, *arguments):
        command = [*pin, build.benchmarks / "EngineSpeed", *arguments]
        text = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
        lines = re.findall(r"^(engine alone|memory)\b.*: (?:median )?([\d.,]+) ", text, re.MULTILINE)
        return {what: float(value.replace(",", "")) for what, value in lines}

    for tasks, rounds in [(5_000, 60), (100_000, 3)]:
        builds.compare(
            f"engine alone, {tasks:,} queued", builds.bench.rounds,
            lambda build: engine(build, tasks, rounds, "--alone"), **{"engine alone": ("tasks per second", "/s")})
    builds.compare("a million queued requests", 1, lambda build: engine(build, 5_000, 1), memory=("memory", "MB"))
    builds.compare(
        "16 threads that load and cancel, 200,000 operations", builds.few,
        lambda build: watched([build.stress, "--seed", 1, "--operations", 200_000], builds.bench.folder / "none"),
        cpu=("CPU time", "s"), seconds=("wall time", "s"), memory=("peak memory", "MB"))
    builds.compare(
        "from cancel()", 3, lambda build: sample([build.benchmarks / "CancelLatency", 20]),
        queue_median=("last callback, on its queue", "µs"),
        elsewhere_median=("last callback, from another thread", "µs"), transfer_median=("closed connection", "ms"))


def run_get(builds):
    bench, target = builds.bench, builds.bench.folder / "got"
    for protocol, base, trust in protocols(bench):
        for kind, output in [("to files", ["-o", target]), ("discarded", ["--discard"])]:
            command = our_get(bench, base, "--no-cache", *trust, *output)[1:]
            builds.compare(
                f"`get` {kind} over {protocol}", bench.rounds, lambda build: watched([build.inflight, *command], target),
                cpu=("CPU time per file", "µs", 1e6 / bench.count), seconds=("wall time", "µs", 1e6 / bench.count),
                memory=("peak memory", "MB"), threads=("threads", ""))
    count, listed, made = 2000, bench.folder / "whole.txt", bench.folder / "thumbnails"
    listed.write_text("".join(f"{url}\n" for url in whole_part.write_files(bench, count)))
    command = ["get", "-i", listed, "-o", made, "--quiet", "--no-cache", *SMALL]
    command += ["--concurrency", AT_ONCE, "--per-host", AT_ONCE]
    builds.compare(
        "thumbnails by `get`", builds.few, lambda build: whole_part.spent([build.inflight, *command], count, made),
        cpu=("images per second of CPU time", "/s"), wall=("images per second", "/s"))


def run_batch(builds):
    bench, listed, made = builds.bench, builds.bench.folder / "batch.txt", builds.bench.folder / "batch"
    urls, asked = batch_part.write_list(bench, listed, 2), bench.folder / "batch.jsonl"
    batch_part.write_asked(asked, urls)
    rates = {"cpu": ("rows per second of CPU time", "/s"), "wall": ("rows per second", "/s")}
    plain = ["batch", listed, "-o", made, "--shard-size", 1000, *SMALL, *OPTIONS]
    builds.compare(
        f"`batch`, {len(urls):,} images", builds.few,
        lambda build: batch_part.spent([build.inflight, *plain], made, batch_part.images), **rates)
    builds.compare(
        f"`batch --stream`, {len(urls):,} images", builds.few,
        lambda build: batch_part.spent(
            batch_part.stream(build.inflight, asked, made, *SMALL, *OPTIONS), made, batch_part.answers), **rates)
    rows = ["batch", bench.folder / "missing.txt", "-o", made, "--format", "jpeg", *OPTIONS]
    batch_part.write_missing(bench, rows[1], 60_000)
    builds.compare(
        "`batch`, 60,000 rows that end with 404", builds.few,
        lambda build: batch_part.spent([build.inflight, *rows], made, batch_part.failures), **rates)
    if bench.rows:
        batch_part.write_missing(bench, rows[1], bench.rows)
        builds.compare(
            f"`batch`, {bench.rows:,} rows that end with 404, once", 1,
            lambda build: watched([build.inflight, *rows], made),
            cpu=("CPU time", "s"), seconds=("wall time", "s"), memory=("peak memory", "MB"))


def run_disk(builds):
    count = 1000 if builds.bench.is_quick else 5000
    for verb, at_once in [("read", 1), ("read", 16), ("write", 1), ("write", 64)]:
        builds.compare(
            f"disk cache, {verb} of 30 KB, {at_once} at a time", builds.few,
            lambda build: on(build.benchmarks / "DiskSpeed", verb, count, BYTES, "--at-once", at_once),
            each_us=("wall time", "µs"), cpu_us=("CPU time", "µs"))
