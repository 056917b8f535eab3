"""Measurements without a peer: the engine alone, the latency of cancellation, and the eviction policies."""

import re
import shutil
import subprocess

from measure import sample, say

TARGETS = {
    "engine alone, one thread, 5000 tasks at once": "≥ 300,000 /s",
    "engine alone, one thread, 100000 tasks at once": "≥ 300,000 /s",
    "memory of 1000000 queued requests for pictures": "< 0.8 GB",
}


def run_engine(bench, table):
    """Measures the engine, pinned to one core by `taskset` if it is installed."""
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    program, rounds = str(bench.binary("EngineSpeed")), 3 if bench.is_quick else 9
    for arguments in ("5000", str(20 * rounds), "--alone"), ("100000", str(rounds)):
        done = subprocess.run([*pin, program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            if match := re.fullmatch(r"(.*?): (?:median )?(.*)", line):
                table.add(match[1], match[2], target=TARGETS.get(match[1], ""))


def run_cancel(bench, table):
    value = sample([bench.binary("CancelLatency"), 40 if bench.is_quick else 200])
    times = f"{value['rounds']:.0f} times: median, p99"
    for key, what, unit, target in [
        ("queue", "cancel() to the last callback, on the callback queue", "µs", ""),
        ("elsewhere", "cancel() to the last callback, from another thread", "µs", ""),
        ("transfer", "cancel() to the closed connection, as seen by the server", "ms", "< 100 ms"),
    ]:
        figures = f"{value[key + '_median']:.2f} {unit}, {value[key + '_p99']:.2f} {unit}"
        table.add(f"{what}, {times}", figures, target=target)


def run_eviction(bench, _):
    say(subprocess.run([bench.binary("EvictionTraces")], check=True, stdout=subprocess.PIPE, text=True).stdout)
