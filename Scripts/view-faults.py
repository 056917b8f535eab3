#!/usr/bin/env python3
"""Proves that the grid under Xvfb sees wrong cells: part of `make faults`.

    Scripts/view-faults.py SCRATCH [NAME…]

Each file in Scripts/Faults/Views is a sentence and a patch that makes a cell show what it must not. One after the other is
applied to a copy of the project; the grid is thrown about as in `make test-gtk`, and has to find wrong cells. Needs what
`Scripts/deps.sh gtk` installs.
"""

import os
import pathlib
import re
import subprocess
import sys

import patched

FOLDERS = ["Sources", "Tests", "GTK/Sources", "GTK/Tests"]
MANIFESTS = ["Package.swift", "GTK/Package.swift"]
BINDS = "4000"


def wrong_cells(copy):
    """How many cells were seen that showed another row's picture; None where nothing could be seen at all."""
    # The copies are told apart by their contents, not by their times.
    flags = ["--package-path", str(copy / "GTK"), "--scratch-path", str(copy / "build")]
    built = subprocess.run(
        [patched.SWIFT, "build", *flags, "--product", "GTKChecks"], capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stdout[-3000:], file=sys.stderr)
        return None
    run = subprocess.run(
        ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", str(copy / "build/debug/GTKChecks"), "no cell", "--binds", BINDS],
        capture_output=True, text=True, env={**os.environ, "GSK_RENDERER": "cairo"})
    told = re.search(r"(\d+) wrong;", run.stdout)
    if not told:
        print(f"{run.stdout[-3000:]}{run.stderr[-3000:]}", file=sys.stderr)
        return None
    return int(told[1])


def main(scratch, names):
    copy = pathlib.Path(scratch).resolve() / "views"
    wanted = patched.files_in([folder for folder in FOLDERS if (patched.ROOT / folder).exists()])
    patched.copy_sources(copy, wanted | {pathlib.Path(name) for name in MANIFESTS})
    if (wrong := wrong_cells(copy)) != 0:
        sys.exit(f"without any fault: {'nothing was seen' if wrong is None else f'{wrong} wrong cells'}")
    print("| fault | wrong cells seen |\n|---|---|")
    missed = []
    for patch in patched.patches_in(patched.FAULTS / "Views", names):
        with patched.applied(copy, patch):
            wrong = wrong_cells(copy)
        if not wrong:
            missed.append(patch.stem)
        print(f"| {patch.stem} | {wrong or 'none'} |", flush=True)
    if missed:
        sys.exit("not found: " + ", ".join(missed))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
