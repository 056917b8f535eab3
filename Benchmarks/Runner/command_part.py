"""The `inflight` command: memory and threads of a long `get`, loads from a warm cache, start-up time."""

import os
import re
import shutil
import time

from http_part import counted
from measure import in_turns


def watched(command, folder):
    """Runs a command and samples it every 2 ms: peak memory in MB, maximum threads, seconds, CPU seconds."""
    start = time.monotonic()
    null = os.open(os.devnull, os.O_RDWR)
    process = os.posix_spawn(
        command[0], [str(part) for part in command], os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)])
    os.close(null)
    threads, memory = 0, 0
    while True:
        ended, status, usage = os.wait4(process, os.WNOHANG)
        if ended:
            break
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            text = file.read()
        for name, value in re.findall(r"^(Threads|VmHWM):\s+(\d+)", text, re.MULTILINE):
            if name == "Threads":
                threads = max(threads, int(value))
            else:
                memory = max(memory, int(value))
        time.sleep(0.002)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} exited with status {os.waitstatus_to_exitcode(status)}")
    files = sum(1 for _ in folder.iterdir())
    shutil.rmtree(folder)
    return {
        "memory": memory / 1024, "threads": threads, "files": files,
        "seconds": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime,
    }


def run_get(bench, table):
    urls, target = bench.folder / "urls.txt", bench.folder / "got"
    paths = [f"{index:05}.jpg" for index in range(bench.count)]
    urls.write_text("".join(f"{bench.plain}/{path}\n" for path in paths))
    config = bench.folder / "curl.txt"
    config.write_text("".join(f'url = "{bench.plain}/{path}"\noutput = "{target}/{path}"\n' for path in paths))
    curl = shutil.which("curl")
    for at_once in (16, 64):
        command = [bench.inflight, "get", "-i", urls, "-o", target, "--quiet", "--no-cache"]
        command += ["--concurrency", at_once, "--per-host", at_once]
        sides = {"ours": lambda command=command: watched(command, target)}
        if curl:
            peer = [curl, "--silent", "--parallel", "--parallel-max", at_once, "--create-dirs", "--config", config]
            sides["peer"] = lambda peer=peer: watched(peer, target)
        samples = in_turns(max(3, bench.rounds // 2), **sides)
        ours = samples["ours"]
        if any(one["files"] != bench.count for one in ours):
            raise SystemExit("bench: `inflight get` did not write every file")
        what = f"`inflight get` of {bench.count:,} to files, {at_once} at a time"
        table.alone(f"{what}: peak memory", "MB", [one["memory"] for one in ours], "< 80 MB")
        table.alone(f"{what}: threads", "", [one["threads"] for one in ours], "≤ 8")
        if curl:
            rates = [[bench.count / one["seconds"] for one in samples[side]] for side in ("ours", "peer")]
            table.compare(f"{what}: rate", "/s", *rates, "`curl --parallel`")
            times = [[one["cpu"] / bench.count * 1e6 for one in samples[side]] for side in ("ours", "peer")]
            table.compare(f"{what}: CPU time per file", "µs", *times, "`curl --parallel`")


def run_warm(bench, table):
    urls, target, cache = bench.folder / "fresh.txt", bench.folder / "got", bench.folder / "cache"
    urls.write_text("".join(f"{bench.plain}/fresh/{index:05}.jpg\n" for index in range(bench.count)))
    command = [bench.inflight, "get", "-i", urls, "-o", target, "--quiet"]

    def get(*options):
        return counted(bench, lambda: watched([*command, *options], target))

    def cold():
        shutil.rmtree(cache, ignore_errors=True)
        return get("--cache", cache)

    samples = in_turns(
        max(3, bench.rounds // 2), cold=cold, warm=lambda: get("--cache", cache), without=lambda: get("--no-cache"))
    if any(one["requests"] for one in samples["warm"]):
        raise SystemExit("bench: `inflight get` sent requests although all files were cached and fresh")
    figures = [("seconds", "time", "ms", 1000, "≤ 0.33"), ("cpu", "CPU time per file", "µs", 1e6 / bench.count, "")]
    for key, title, unit, scale, target_ratio in figures:
        what = f"`inflight get` of {bench.count:,} cached files: {title}"
        stored, empty, none = ([one[key] * scale for one in samples[side]] for side in ("warm", "cold", "without"))
        table.compare(what, unit, stored, empty, "an empty cache", target_ratio)
        table.compare(what, unit, stored, none, "`--no-cache`")
    shutil.rmtree(cache, ignore_errors=True)


def start_time(command):
    """The wall time and the CPU time of a program from start to exit, in milliseconds."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)]
    start = time.perf_counter_ns()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    taken = (time.perf_counter_ns() - start) / 1e6
    os.close(null)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)} failed")
    return {"wall": taken, "cpu": (usage.ru_utime + usage.ru_stime) * 1000}


def run_start(bench, table):
    curl = shutil.which("curl")
    if not curl:
        table.add("`inflight --version`: time", "not measured: `curl` is not installed")
        return
    times = in_turns(
        20 if bench.is_quick else 200,
        ours=lambda: start_time([str(bench.inflight), "--version"]),
        peer=lambda: start_time([curl, "--version"]),
    )
    for key, what, target in [("wall", "time", "≤ 2"), ("cpu", "CPU time", "")]:
        sides = [[one[key] for one in times[side]] for side in ("ours", "peer")]
        table.compare(f"`inflight --version`: {what}", "ms", *sides, "`curl --version`", target)
