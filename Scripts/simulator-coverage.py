#!/usr/bin/env python3
"""Shows which transitions of the engine the simulator reaches: `make simulator-coverage`.

    Scripts/simulator-coverage.py SCRATCH [SCHEDULES]

Builds the simulator so that it counts what it runs through, runs schedules, and prints a table of the machine's events
and of the functions that carry them out, each with how often it was entered; below it every place that was not reached.
Nothing in the sources helps with that: the compiler does the counting.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWIFT = os.environ.get("SWIFT", "swift")
# The toolchain's own: another version does not read what this compiler writes.
TOOLS = pathlib.Path(os.path.realpath(shutil.which(SWIFT) or SWIFT)).parent
FILES = [
    "Engine/EngineMachine.swift", "Engine/EngineMachine+Transitions.swift", "Engine/EngineMachine+Slots.swift",
    "Tasks/ImageTask.swift", "Engine/Engine.swift", "Engine/PixelJobs.swift", "Fetch/FetchJob.swift",
    "Fetch/FetchJob+Sending.swift", "Fetch/FetchJob+Hooks.swift", "Fetch/SourceJob.swift", "Hooks/ExtensionCall.swift",
    "Loader/LoaderMachine.swift", "Loader/ImageLoader.swift", "Prefetch/PrefetchMachine.swift",
    "Prefetch/PrefetchCore.swift",
]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(scratch, schedules):
    """What llvm-cov says of the sources above."""
    flags = ["-Xswiftc", "-profile-generate", "-Xswiftc", "-profile-coverage-mapping", "--scratch-path", str(scratch)]
    build = [SWIFT, "build", "--package-path", str(ROOT), "--product", "inflight-simulate", *flags]
    run(build)
    program = pathlib.Path(run([*build, "--show-bin-path"]).strip()) / "inflight-simulate"
    raw, merged = scratch / "simulate.profraw", scratch / "simulate.profdata"
    run([program, "--count", str(schedules)], env={**os.environ, "LLVM_PROFILE_FILE": str(raw)})
    run([TOOLS / "llvm-profdata", "merge", raw, "-o", merged])
    paths = [str(ROOT / "Sources" / "InflightCore" / name) for name in FILES]
    return json.loads(run([TOOLS / "llvm-cov", "export", "-instr-profile", merged, program, *paths]))["data"][0]


def counted(data):
    """By file and place of each function: how often it was entered, and which of its regions never were."""
    functions = collections.defaultdict(lambda: [0, collections.Counter()])
    for function in data["functions"]:
        name = function["filenames"][0]
        if not any(name.endswith(file) for file in FILES):
            continue
        regions = [region for region in function["regions"] if region[7] == 0]
        place = (name, regions[0][0], regions[0][1])
        functions[place][0] += function["count"]
        for region in regions:
            functions[place][1][tuple(region[:4])] += region[4]
    return functions


def title(lines, line):
    """The declaration that a function's region belongs to."""
    for number in range(line, max(0, line - 6), -1):
        found = re.search(r"\b(?:func (\w+)|(init|deinit)\b|var (\w+))", lines[number - 1])
        if found:
            return found[1] or found[2] or found[3]
    return "closure"


def main(scratch, schedules):
    functions = counted(measure(pathlib.Path(scratch).resolve(), schedules))
    missed = []
    reached = total = 0
    print(f"{schedules} schedules\n\n| file | what happens | times | places reached |\n|---|---|---|---|")
    order = {name: index for index, name in enumerate(FILES)}
    def key(place):
        return next(order[file] for file in FILES if place[0].endswith(file)), place[1], place[2]
    for place in sorted(functions, key=key):
        entered, regions = functions[place]
        lines = pathlib.Path(place[0]).read_text().split("\n")
        name = title(lines, place[1])
        hit = sum(1 for count in regions.values() if count)
        reached, total = reached + hit, total + len(regions)
        file = pathlib.Path(place[0]).name
        print(f"| {file} | {name} | {entered} | {hit} of {len(regions)} |")
        for region, count in sorted(regions.items()):
            if not count:
                missed.append(f"{file}:{region[0]}: in {name}: {lines[region[0] - 1].strip()}")
    print(f"\n{reached} of {total} places were reached. Not reached:\n")
    for line in dict.fromkeys(missed):
        print("- " + line)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
