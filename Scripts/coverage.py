"""Code coverage of a run, for `simulator-coverage.py` and `request-path.py`."""

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
# The toolchain's LLVM tools: other versions cannot read this compiler's profiles.
TOOLS = pathlib.Path(os.path.realpath(shutil.which(SWIFT) or SWIFT)).parent


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def build(scratch, product, package=ROOT):
    """Builds the program with coverage instrumentation. Returns its path."""
    flags = ["-Xswiftc", "-profile-generate", "-Xswiftc", "-profile-coverage-mapping", "--scratch-path", str(scratch)]
    command = [SWIFT, "build", "--package-path", str(package), "--product", product, *flags]
    run(command)
    return pathlib.Path(run([*command, "--show-bin-path"]).strip()) / product


def measure(scratch, program, arguments, paths):
    """Runs the program. Returns llvm-cov's data on the sources at `paths`."""
    raw, merged = scratch / "run.profraw", scratch / "run.profdata"
    run([program, *arguments], env={**os.environ, "LLVM_PROFILE_FILE": str(raw)})
    run([TOOLS / "llvm-profdata", "merge", raw, "-o", merged])
    return json.loads(run([TOOLS / "llvm-cov", "export", "-instr-profile", merged, program, *paths]))["data"][0]


def counted(data, is_wanted):
    """The entry count of each function and of each of its regions, by the function's file and position."""
    functions = collections.defaultdict(lambda: [0, collections.Counter()])
    for function in data["functions"]:
        name = function["filenames"][0]
        if not is_wanted(name):
            continue
        regions = [region for region in function["regions"] if region[7] == 0]
        place = (name, regions[0][0], regions[0][1])
        functions[place][0] += function["count"]
        for region in regions:
            functions[place][1][tuple(region[:4])] += region[4]
    return functions


def title(lines, line):
    """The name of the declaration that contains a function's region."""
    for number in range(line, max(0, line - 6), -1):
        found = re.search(r"\b(?:func (\w+)|(init|deinit)\b|var (\w+))", lines[number - 1])
        if found:
            return found[1] or found[2] or found[3]
    return "closure"
