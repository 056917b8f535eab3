"""The concurrency patterns beside plain alternatives, the cost of loaders and observers, the simulator's speed."""

import re
import shutil
import statistics
import subprocess

from measure import in_turns, sample, shown, spread

LINE = re.compile(r"\s*([\d.]+) ns,\s*([\d.]+) at least,\s*([\d.]+) allocations: (.*)")

# A pattern, the alternative that it is compared with, and the target for the ratio of their costs, if there is one.
PAIRS = [
    ("Guarded.write", "bare lock", ""),
    ("IsolationDomain.enter", "bare lock", ""),
    ("QueueGuarded.write", "DispatchQueue.sync", ""),
    ("CancellationToken.isCancelled", "bare lock", ""),
    ("CancellationToken.onCancel, remove", "actor: a hop there and back", ""),
    ("Gate: an event", "DispatchQueue.async", ""),
    ("Gate: an event", "OperationQueue.addOperation", "≤ 1"),
    ("Gate: made, ended, let go of", "DispatchQueue.async", ""),
    ("Gate: made, ended, let go of", "OperationQueue.addOperation", "≤ 1"),
    ("WorkGroup: enter, leave", "DispatchQueue.sync", ""),
    ("WorkLane: in, its turn, out", "OperationQueue.addOperation", "≤ 1"),
    ("TaskRunner: a start, its outcome", "OperationQueue.addOperation", "≤ 1"),
]


def costs(bench):
    """The cost of each pattern: nanoseconds of CPU time, and allocations."""
    text = subprocess.run([bench.binary("PatternCosts")], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [match.groups() for match in map(LINE.fullmatch, text.splitlines()) if match]
    return {name: (float(median), float(allocations)) for median, _, allocations, name in found}


def run(bench, table):
    rounds = [costs(bench) for _ in range(3 if bench.is_quick else 7)]

    def nanoseconds(name):
        return [one[name][0] for one in rounds]

    def figures(name):
        allocations = statistics.median(one[name][1] for one in rounds)
        return f"{shown(statistics.median(nanoseconds(name)))} ns, {allocations:g} allocations"

    for name, peer, target in PAIRS:
        ratios = [ours / other for ours, other in zip(nanoseconds(name), nanoseconds(peer))]
        table.add(
            f"`{name}`", figures(name), f"{peer}: {figures(peer)}",
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f})", target)
    over = [ours - queue for ours, queue in zip(nanoseconds("Gate: an event"), nanoseconds("DispatchQueue.async"))]
    table.alone("a gate's callback, beyond the cost of its queue", "ns", over, "< 2,000 ns")


def run_loaders(bench, table):
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, bench.binary("LoaderCosts"), 5000 if bench.is_quick else 20000]
    samples = in_turns(3 if bench.is_quick else 7, ours=lambda: sample(command))["ours"]
    bare = [one["pipeline"] for one in samples]
    for key, name in [("loader", "`ImageLoader`"), ("prefetcher", "`Prefetcher`, into memory")]:
        table.compare(f"a load by {name}: CPU time", "µs", [one[key] for one in samples], bare, "the pipeline's own")
    weight = [one["bytes"] for one in samples]
    table.add(
        f"{samples[0]['underway']:,.0f} tasks in flight: threads of the process, memory per task",
        f"{max(one['threads'] for one in samples):.0f}, {shown(statistics.median(weight))} bytes ({spread(weight)})")


def run_listener(bench, table):
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, bench.binary("ListenerCosts"), 5000 if bench.is_quick else 20000]
    samples = in_turns(bench.rounds, ours=lambda: sample(command))["ours"]
    for kind, what in [("memory", "a load from memory"), ("whole", "a complete load")]:
        alone = [one[f"{kind}_none"] for one in samples]
        for key, name in [("idle", "an observer that does nothing"), ("meter", "`ImagePipeline.Metrics`")]:
            table.compare(
                f"{what} with {name}: CPU time", "µs", [one[f"{kind}_{key}"] for one in samples], alone, "no observer")


def run_simulator(bench, table):
    command = [bench.binary("SimulatorSpeed"), 200 if bench.is_quick else 2000]
    samples = in_turns(3 if bench.is_quick else 7, ours=lambda: sample(command))["ours"]
    table.alone("simulator: steps per second of one core", "/s", [one["steps"] / one["cpu"] for one in samples], "1,000,000")
    table.alone("simulator: schedules per second of one core", "/s", [one["schedules"] / one["cpu"] for one in samples])
