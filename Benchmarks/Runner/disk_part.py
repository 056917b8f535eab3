"""The disk cache beside plain files and SQLite blobs. Uses /var/tmp, which is on a disk and not in memory."""

import pathlib
import shutil
import tempfile

from measure import in_turns, sample

BYTES = 30_000


def on(program, *arguments):
    """Runs a program with a temporary folder and returns its figures."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="inflight-bench-", dir="/var/tmp"))
    try:
        return sample([program, arguments[0], folder, *arguments[1:]])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(bench, table):
    ours, disk_peer, cache_peer = bench.binary("DiskSpeed"), bench.peer("disk_peer"), bench.binary("URLCacheSpeed")
    count = 1000 if bench.is_quick else 5000
    rounds = min(bench.rounds, 7)

    def compare(what, our, theirs, name, target="", peer=disk_peer):
        sides = in_turns(rounds, ours=lambda: on(ours, *our), peer=lambda: on(peer, *theirs))
        for figure, title, wanted in (("each_us", what, target), ("cpu_us", f"{what}: CPU time", "")):
            values = {side: [sample[figure] for sample in samples] for side, samples in sides.items()}
            table.compare(title, "µs", values["ours"], values["peer"], name, wanted)

    for at_once in (1, 16):
        compare(
            f"reading a body of 30 KB, {at_once} at a time", ("read", count, BYTES, "--at-once", at_once),
            ("read", count, BYTES), "`open`, `read` and the same checksum", "≤ 1.5" if at_once == 16 else "")
    for at_once in (1, 64):
        compare(
            f"storing a body of 30 KB, {at_once} at a time", ("write", count, BYTES, "--at-once", at_once),
            ("blobs", count, BYTES), "SQLite, a transaction per blob", "≤ 1.25" if at_once == 1 else "< 1")
    compare(
        "the same, beside files", ("write", count, BYTES, "--at-once", 64), ("files", count, BYTES),
        "write and rename")
    # URLCache takes tens of milliseconds per call, and more as the cache grows.
    few = 100
    for verb, what in (("write", "storing"), ("read", "reading")):
        compare(
            f"{what} a body of 30 KB, {few} in all", (verb, few, BYTES), (verb, few, BYTES), "`URLCache`",
            peer=cache_peer)
    synced = max(50, count // 20)
    compare(
        "the same, beside files with `fsync`", ("write", count, BYTES, "--at-once", 64),
        ("synced", synced, BYTES), "write, `fsync` and rename")

    gigabyte = 1_000_000_000 // 100_000 // (20 if bench.is_quick else 1)
    found = on(ours, "evict", gigabyte, 100_000)
    table.add(
        f"hits while writing {gigabyte // 10} MB causes eviction: median, p99",
        f"{found['p50_ms']:.2f} ms, {found['p99_ms']:.2f} ms ({found['missed']:.0f} of {found['hits']:,.0f} missed)")

    folder = pathlib.Path(tempfile.mkdtemp(prefix="inflight-bench-", dir="/var/tmp"))
    try:
        entries = 50_000 if bench.is_quick else 1_000_000
        sample([ours, "fill", folder, entries])
        opened = [sample([ours, "open", folder]) for _ in range(rounds)]
        opening = f"opening a cache of {entries:,} entries, to the first hit"
        table.alone(opening, "ms", [s["open_ms"] for s in opened], "< 20 ms")
        table.alone(f"{opening}: memory", "MB", [s["mb"] for s in opened], "< 20 MB")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
