#!/usr/bin/env python3
"""Proves that the simulator finds what it is made to find: `make faults`.

    Scripts/faults.py SCRATCH [NAME…]

Each file in Scripts/Faults is a deliberate fault: a sentence, and a patch. One after the other is applied to a copy of
the sources, the simulator is built from that, and runs until it finds a rule broken. Prints a table with the schedule
at which each was found. Fails where one is not found within 10,000 schedules, or does not apply any more.
"""

import pathlib
import re
import subprocess
import sys

import patched

SCHEDULES = 10_000


def build(copy):
    # Not optimised: most faults are found within seconds, and only what a patch changes is compiled again.
    command = [patched.SWIFT, "build", "--package-path", str(copy), "--product", "inflight-simulate"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the simulator does not build:\n{done.stdout}{done.stderr}")
    return copy / ".build" / "debug" / "inflight-simulate"


def find(program, schedules=SCHEDULES):
    """The schedule and the rule, or None."""
    done = subprocess.run(
        [str(program), "--count", str(schedules), "--threads", "1", "--standstill", "10"],
        capture_output=True, text=True,
    )
    found = re.search(r"^seed (\d+) (?:breaks a rule|stands still): contract (\d+): (.*)$", done.stdout, re.MULTILINE)
    if found:
        return int(found[1]), int(found[2]), found[3]
    if done.returncode < 0:
        return None, None, f"the program crashed with signal {-done.returncode}"
    return None


def main(scratch, names):
    copy = pathlib.Path(scratch).resolve()
    patched.copy_sources(copy, patched.files_in(["Sources", "Tests"]) | {pathlib.Path("Package.swift")})
    if find(build(copy), 500):
        sys.exit("the simulator finds a rule broken without any fault")
    print("| fault | schedule | rule | what it saw |\n|---|---|---|---|")
    missed = []
    for patch in patched.patches_in(patched.FAULTS, names):
        with patched.applied(copy, patch):
            found = find(build(copy))
        if found is None:
            missed.append(patch.stem)
            found = ("none", "", f"nothing, in {SCHEDULES} schedules")
        print(f"| {patch.stem} | {found[0]} | {found[1]} | {found[2]} |", flush=True)
    if missed:
        sys.exit("not found: " + ", ".join(missed))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
