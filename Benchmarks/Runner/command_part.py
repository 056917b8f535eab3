"""The command itself: memory and threads of a long `get`, and how fast it starts."""

import os
import re
import shutil
import time

from measure import in_turns


def watched(command, folder):
    """Runs a command and looks at it until it ends: peak memory in MB, most threads, seconds, CPU seconds."""
    start = time.monotonic()
    null = os.open(os.devnull, os.O_RDWR)
    process = os.posix_spawn(
        command[0], [str(part) for part in command], os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1)])
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
        raise SystemExit(f"bench: {' '.join(map(str, command))} ended with {os.waitstatus_to_exitcode(status)}")
    files = sum(1 for _ in folder.iterdir())
    shutil.rmtree(folder)
    return {
        "memory": memory / 1024, "threads": threads, "files": files,
        "seconds": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime,
    }


def run_get(bench, table):
    urls = bench.folder / "urls.txt"
    urls.write_text("".join(f"{bench.plain}/{index:05}.jpg\n" for index in range(bench.count)))
    target = bench.folder / "got"
    command = [bench.inflight, "get", "-i", urls, "-o", target, "--quiet"]
    cases = [("", []), (", 64 at a time", ["--concurrency", "64", "--per-host", "64"])]
    for name, options in cases:
        samples = in_turns(max(3, bench.rounds // 3), ours=lambda: watched([*command, *options], target))["ours"]
        if any(one["files"] != bench.count for one in samples):
            raise SystemExit("bench: `inflight get` did not write every file")
        what = f"`inflight get` of {bench.count:,} to files{name}"
        table.alone(f"{what}: peak memory", "MB", [one["memory"] for one in samples], "< 80 MB")
        table.alone(f"{what}: threads", "", [one["threads"] for one in samples], "≤ 8")
        table.alone(f"{what}: rate", "/s", [bench.count / one["seconds"] for one in samples])


def start_time(command):
    """Milliseconds from the start of a program to its end."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)]
    start = time.perf_counter_ns()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status = os.waitpid(process, 0)
    taken = (time.perf_counter_ns() - start) / 1e6
    os.close(null)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)} failed")
    return taken


def run_start(bench, table):
    curl = shutil.which("curl")
    if not curl:
        table.add("`inflight --version`: time", "not measured: there is no `curl` here")
        return
    times = in_turns(
        20 if bench.is_quick else 200,
        ours=lambda: start_time([str(bench.inflight), "--version"]),
        peer=lambda: start_time([curl, "--version"]),
    )
    table.compare("`inflight --version`: time", "ms", times["ours"], times["peer"], "`curl --version`", "≤ 2")
