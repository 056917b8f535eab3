"""The `inflight` command: memory and threads of a long `get`, loads from a warm cache, start-up time."""

import os
import pathlib
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
    seconds = time.monotonic() - start
    if status != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} exited with status {os.waitstatus_to_exitcode(status)}")
    # `inflight get` keeps its index in a hidden file.
    files = sum(1 for _ in folder.glob("[!.]*")) if folder.exists() else 0
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "memory": memory / 1024, "threads": threads, "files": files,
        "seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime,
    }


AT_ONCE = 64


def paths(bench):
    return [f"{index:05}.jpg" for index in range(bench.count)]


def our_get(bench, base, *options):
    """The command that loads all files."""
    urls = bench.folder / "urls.txt"
    urls.write_text("".join(f"{base}/{path}\n" for path in paths(bench)))
    return [bench.inflight, "get", "-i", urls, "--quiet", "--concurrency", AT_ONCE, "--per-host", AT_ONCE, *options]


def curl_get(bench, base, output, *options):
    """The same by curl. `output` returns the file to which it writes a path."""
    config = bench.folder / f"curl-{output('x').name}.txt"
    config.write_text("".join(f'url = "{base}/{path}"\noutput = "{output(path)}"\n' for path in paths(bench)))
    command = [shutil.which("curl"), "--silent", "--parallel", "--parallel-max", AT_ONCE, "--create-dirs"]
    return [*command, "--config", config, *options]


def compare_gets(bench, table, what, ours, peer, name, targets=("", "")):
    """Adds two rows: the ratio of the rates, and of the CPU times."""
    rates = [[bench.count / one["seconds"] for one in side] for side in (ours, peer)]
    table.compare(f"{what}: rate", "/s", *rates, name, targets[0])
    times = [[one["cpu"] / bench.count * 1e6 for one in side] for side in (ours, peer)]
    table.compare(f"{what}: CPU time per file", "µs", *times, name, targets[1])


def run_get(bench, table):
    if not shutil.which("curl"):
        table.add("`inflight get`", "not measured: `curl` is not installed")
        return
    target = bench.folder / "got"
    files, discarded = f"`inflight get` of {bench.count:,} to files", f"`inflight get --discard` of {bench.count:,}"
    for protocol, base, trust, to_files, to_nothing in [
        ("", bench.plain, [], ("≥ 1.1", "≤ 1.1"), ("≥ 1.3", "≤ 0.9")),
        (" over TLS and HTTP/2", bench.tls, ["--cacert", bench.certificate], ("≥ 1.1", "≤ 1.1"), ("≥ 1.4", "≤ 0.85")),
    ]:
        ours = our_get(bench, base, "--no-cache", *trust)
        peer = curl_get(bench, base, lambda path: target / path, *trust)
        null = curl_get(bench, base, lambda _: pathlib.Path("/dev/null"), *trust)
        found = in_turns(
            max(3, bench.rounds // 2),
            files=lambda ours=ours: watched([*ours, "-o", target], target),
            discarded=lambda ours=ours: watched([*ours, "--discard"], target),
            peer=lambda peer=peer: watched(peer, target),
            null=lambda null=null: watched(null, target),
        )
        if any(one["files"] != bench.count for one in found["files"] + found["peer"]):
            raise SystemExit("bench: `inflight get` or `curl` did not write every file")
        table.alone(f"{files}{protocol}: peak memory", "MB", [one["memory"] for one in found["files"]], "< 80 MB")
        table.alone(f"{files}{protocol}: threads", "", [one["threads"] for one in found["files"]], "≤ 8")
        curl = "`curl --parallel`"
        compare_gets(bench, table, files + protocol, found["files"], found["peer"], curl, to_files)
        compare_gets(bench, table, discarded + protocol, found["discarded"], found["peer"], f"{curl} to files", to_nothing)
        compare_gets(bench, table, discarded + protocol, found["discarded"], found["null"], f"{curl} to /dev/null")


def run_warm(bench, table):
    target, cache, base = bench.folder / "got", bench.folder / "cache", f"{bench.plain}/fresh"
    command = our_get(bench, base, "-o", target)

    def get(*options):
        return counted(bench, lambda: watched([*command, *options], target))

    def cold():
        shutil.rmtree(cache, ignore_errors=True)
        return get("--cache", cache)

    sides = {"cold": cold, "warm": lambda: get("--cache", cache), "without": lambda: get("--no-cache")}
    if shutil.which("curl"):
        peer = curl_get(bench, base, lambda path: target / path)
        sides["peer"] = lambda: watched(peer, target)
    samples = in_turns(max(3, bench.rounds // 2), **sides)
    if any(one["requests"] for one in samples["warm"]):
        raise SystemExit("bench: `inflight get` sent requests although all files were cached and fresh")
    what = f"`inflight get` of {bench.count:,} cached files"
    compare_gets(bench, table, what, samples["warm"], samples["cold"], "an empty cache", ("≥ 3", ""))
    compare_gets(bench, table, what, samples["warm"], samples["without"], "`--no-cache`")
    if "peer" in samples:
        compare_gets(bench, table, what, samples["warm"], samples["peer"], "`curl --parallel`", ("≥ 2", "≤ 0.5"))
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
    run_first(bench, table, curl)


def run_first(bench, table, curl):
    """Measures what a new process takes for one image that the disk cache has."""
    cache, target = bench.folder / "first-cache", bench.folder / "first.jpg"
    path = paths(bench)[0]
    ours = [bench.inflight, "get", f"{bench.plain}/fresh/{path}", "-o", target, "--cache", cache, "--overwrite", "--quiet"]
    peer = [curl, "--silent", "--output", target, f"file://{bench.folder}/files/{path}"]

    def get():
        return start_time([str(part) for part in ours])

    get()
    again = counted(bench, get)
    if again["requests"]:
        raise SystemExit("bench: the first image of a process was not served from the disk cache")
    times = in_turns(20 if bench.is_quick else 200, ours=get, peer=lambda: start_time([str(part) for part in peer]))
    for key, what, goal in [("wall", "time", "≤ 1.5"), ("cpu", "CPU time", "")]:
        sides = [[one[key] for one in times[side]] for side in ("ours", "peer")]
        table.compare(f"`inflight get` of one cached image, a new process: {what}", "ms", *sides, "`curl file://…`", goal)
    shutil.rmtree(cache)
