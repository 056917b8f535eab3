#!/usr/bin/env python3
"""Proves that the simulator finds what it is made to find: `make faults`.

    Scripts/faults.py SCRATCH [NAME…]

Each file in Scripts/Faults is a deliberate fault: a sentence, and a patch. One after the other is applied to a copy of
the sources, the simulator is built from that, and runs until it finds a rule broken. Prints a table with the schedule
at which each was found. Fails where one is not found within 10,000 schedules, or does not apply any more.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEDULES = 10_000
SWIFT = os.environ.get("SWIFT", "swift")


def copy_sources(copy):
    """What the package manager wants to see; what is the same keeps its time, so that little is built again."""
    copy.mkdir(parents=True, exist_ok=True)
    for part in ["Sources", "Tests"]:
        wanted = {path.relative_to(ROOT) for path in (ROOT / part).rglob("*") if path.is_file()}
        for path in [path for path in (copy / part).rglob("*") if path.is_file()]:
            if path.relative_to(copy) not in wanted:
                path.unlink()
        for path in wanted:
            refresh(copy, path)
    refresh(copy, pathlib.Path("Package.swift"))


def refresh(copy, path):
    target = copy / path
    content = (ROOT / path).read_bytes()
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def build(copy):
    # Not optimised: most faults are found within seconds, and only what a patch changes is compiled again.
    command = [SWIFT, "build", "--package-path", str(copy), "--product", "inflight-simulate"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the simulator does not build:\n{done.stdout}{done.stderr}")
    return copy / ".build" / "debug" / "inflight-simulate"


def apply(copy, patch):
    """Returns the files that were changed, as they were before."""
    names = re.findall(r"^\+\+\+ (\S+)", patch.read_text(), re.MULTILINE)
    before = {copy / name: (copy / name).read_bytes() for name in names}
    done = subprocess.run(
        ["git", "apply", "-p0", "-C1", "--recount", str(patch)], cwd=copy, capture_output=True, text=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)},
    )
    if done.returncode != 0:
        sys.exit(f"{patch.name} does not apply any more; make it anew from today's sources:\n{done.stderr}")
    return before


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
    patches = sorted((ROOT / "Scripts" / "Faults").glob("*.patch"))
    if names:
        patches = [patch for patch in patches if patch.stem in names]
    copy_sources(copy)
    if find(build(copy), 500):
        sys.exit("the simulator finds a rule broken without any fault")
    print("| fault | schedule | rule | what it saw |\n|---|---|---|---|")
    missed = []
    for patch in patches:
        before = apply(copy, patch)
        try:
            found = find(build(copy))
        finally:
            for path, content in before.items():
                path.write_bytes(content)
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
