#!/usr/bin/env python3
"""Runs the benchmarks in order and prints one table.

Scripts/bench.sh calls it after building the programs and starting nginx.
"""

import argparse
import pathlib
import sys

import batch_part
import builds_part
import cluster_part
import command_part
import decode_part
import disk_part
import engine_part
import formats_part
import http_part
import machine
import pattern_part
import pictures
import processor_part
import whole_part
from measure import Table, say

PARTS = {
    "http": http_part.run,
    "instructions": http_part.run_instructions,
    "sharing": http_part.run_sharing,
    "get": command_part.run_get,
    "warm": command_part.run_warm,
    "start": command_part.run_start,
    "decode": decode_part.run,
    "formats": formats_part.run,
    "memory": formats_part.run_memory,
    "probe": formats_part.run_probe,
    "stop": formats_part.run_stop,
    "whole": whole_part.run,
    "batch": batch_part.run,
    "stream": cluster_part.run_stream,
    "cluster": cluster_part.run,
    "builds": builds_part.run,
    "processors": processor_part.run,
    "disk": disk_part.run,
    "cancel": engine_part.run_cancel,
    "engine": engine_part.run_engine,
    "loaders": pattern_part.run_loaders,
    "listener": pattern_part.run_listener,
    "patterns": pattern_part.run,
    "simulator": pattern_part.run_simulator,
    "eviction": engine_part.run_eviction,
}


class Bench:
    """The paths, URLs and sizes of one run."""

    def __init__(self, options):
        self.folder = options.folder
        self.binaries, self.peers, self.inflight = options.binaries, options.peers, options.inflight
        self.swift, self.python = options.swift, options.python
        self.plain = f"http://127.0.0.1:{options.port}"
        self.tls = f"https://127.0.0.1:{options.tls_port}"
        self.certificate = options.folder / "certificate.pem"
        self.is_quick = options.quick
        self.against, self.rows = options.against, options.rows
        self.rounds = 3 if options.quick else 11
        self.count = 1000 if options.quick else 5000

    def binary(self, name):
        return self.binaries / name

    def peer(self, name):
        return self.peers / name

    def source(self, name):
        return pathlib.Path(__file__).parent.parent / "Peers" / name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folder", "binaries", "peers", "inflight"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--swift", required=True)
    parser.add_argument("--python", type=pathlib.Path, help="a Python with the newest peers from PyPI")
    for name in ("port", "tls-port"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--quick", action="store_true", help="use small counts, for a trial run")
    parser.add_argument("--against", type=pathlib.Path, help="for the part builds: a clone with the other build")
    parser.add_argument("--rows", type=int, default=0, help="for the part builds: also this number of rows of `batch`")
    parser.add_argument("parts", nargs="*", help="parts to run: " + ", ".join(PARTS) + " (default: all but cluster, builds)")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part: {', '.join(sorted(unknown))}. Choose from {', '.join(PARTS)}")

    bench, table = Bench(options), Table()
    mean = pictures.write_small(bench.folder / "files", bench.count)
    say(f"{bench.count:,} JPEGs of {mean:,.0f} bytes on average, {bench.rounds} rounds")
    # Two engines of several hundred megabytes are installed, and builds compared, only on request.
    for name in options.parts or [part for part in PARTS if part not in ("cluster", "builds")]:
        say(f"== {name}")
        PARTS[name](bench, table)

    print()
    for line in machine.lines(bench):
        print(line + "\n")
    print("\n".join(table.markdown()))


if __name__ == "__main__":
    sys.exit(main())
