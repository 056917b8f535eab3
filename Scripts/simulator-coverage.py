#!/usr/bin/env python3
"""Shows which code of the engine the simulator reaches: `make simulator-coverage`.

    Scripts/simulator-coverage.py SCRATCH [SCHEDULES]

Builds the simulator with the compiler's coverage instrumentation, runs schedules (default 2,000), and prints a table of
the functions that handle and perform the engine's events, with their entry counts. Lists every region that was not
reached below the table.
"""

import pathlib
import sys

from coverage import ROOT, build, counted, measure, title

FILES = [
    "Engine/JobGraph.swift", "Engine/Engine.swift", "Tasks/ImageTask.swift", "Tasks/ImageTask+Requests.swift",
    "Tasks/TaskEventBacklog.swift", "Decode/PixelJob.swift", "Decode/DecodeLimits.swift",
    "Fetch/FetchState.swift", "Fetch/Fetch.swift", "Fetch/Fetch+Body.swift",
    "Fetch/SourceJob.swift", "Hooks/ExtensionCall.swift", "Loader/ImageLoader.swift",
    "Prefetch/PrefetchMachine.swift", "Prefetch/PrefetchCore.swift",
]


def main(scratch, schedules):
    scratch = pathlib.Path(scratch).resolve()
    paths = [str(ROOT / "Sources" / "Engine" / "InflightCore" / name) for name in FILES]
    data = measure(scratch, build(scratch, "inflight-simulate"), ["--count", str(schedules)], paths)
    functions = counted(data, lambda name: any(name.endswith(file) for file in FILES))
    missed = []
    reached = total = 0
    print(f"{schedules} schedules\n\n| file | function | calls | regions reached |\n|---|---|---|---|")
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
    print(f"\n{reached} of {total} regions were reached. Not reached:\n")
    for line in dict.fromkeys(missed):
        print("- " + line)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
