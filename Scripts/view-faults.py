#!/usr/bin/env python3
"""Proves that wrong cells are seen under Xvfb, in the checks' own grid and in the gallery: part of `make faults`.

    Scripts/view-faults.py SCRATCH [NAME…]

Each file in Scripts/Faults/Views is a sentence and a patch that makes a cell show what it must not. One after the other is
applied to a copy of the project; the grid and the gallery are thrown about as in `make test-gtk`, and wrong cells have to
be seen in both. Needs what `Scripts/deps.sh gtk` installs.
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
# The parts of GTKChecks that look for wrong cells, by a piece of their names.
PARTS = {"grid": "no cell", "gallery": "the gallery"}


def wrong_cells(copy):
    """For each part, how many cells were seen that showed another row's picture; none where nothing could be seen."""
    # The copies are told apart by their contents, not by their times.
    flags = ["--package-path", str(copy / "GTK"), "--scratch-path", str(copy / "build")]
    built = subprocess.run([patched.SWIFT, "build", *flags], capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(f"the copy does not build:\n{built.stdout[-3000:]}")
    return {part: seen_by(copy / "build/debug/GTKChecks", name) for part, name in PARTS.items()}


def seen_by(program, part):
    run = subprocess.run(
        ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", str(program), part, "--binds", BINDS],
        capture_output=True, text=True, env={**os.environ, "GSK_RENDERER": "cairo"})
    told = re.search(r"(\d+) wrong\b", run.stdout)
    if not told:
        print(f"{run.stdout[-3000:]}{run.stderr[-3000:]}", file=sys.stderr)
    return int(told[1]) if told else None


def main(scratch, names):
    copy = pathlib.Path(scratch).resolve() / "views"
    wanted = patched.files_in([folder for folder in FOLDERS if (patched.ROOT / folder).exists()])
    patched.copy_sources(copy, wanted | {pathlib.Path(name) for name in MANIFESTS})
    seen = wrong_cells(copy)
    if any(wrong != 0 for wrong in seen.values()):
        sys.exit(f"without any fault: wrong cells seen: {seen}")
    print("| fault | wrong cells seen in the grid | in the gallery |\n|---|---|---|")
    missed = []
    for patch in patched.patches_in(patched.FAULTS / "Views", names):
        with patched.applied(copy, patch):
            seen = wrong_cells(copy)
        if not all(seen.values()):
            missed.append(patch.stem)
        print(f"| {patch.stem} | {' | '.join(str(wrong or 'none') for wrong in seen.values())} |", flush=True)
    if missed:
        sys.exit("not found: " + ", ".join(missed))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
