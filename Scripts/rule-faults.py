#!/usr/bin/env python3
"""Proves that each of HTTP's rules has a test that fails without it: part of `make faults`.

    Scripts/rule-faults.py SCRATCH [NAME…]

Each file in Scripts/Faults/Caching is a rule taken out: a sentence, the names of the tests that have to fail, and a
patch. One after the other is applied to a copy of the core and of the tests of its rules, which are built and run.
Fails where a named test passes, or a patch does not apply any more.
"""

import os
import pathlib
import re
import subprocess
import sys

import patched

# Rules and their tests need no more of the project than this.
FOLDERS = [
    "Sources/CInflightConcurrency", "Sources/InflightConcurrency", "Sources/InflightCore",
    "Tests/InflightCoreTests/HTTP/Caching", "Tests/InflightCoreTests/HTTP/Retry",
]
GENERATOR = "Sources/InflightTestSupport/Support/SeededGenerator.swift"
PACKAGE = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "rules",
    targets: [
        .target(name: "CInflightConcurrency"),
        .target(name: "InflightConcurrency", dependencies: ["CInflightConcurrency"]),
        .target(name: "InflightCore", dependencies: ["InflightConcurrency"]),
        .target(name: "InflightTestSupport"),
        .testTarget(
            name: "InflightCoreTests", dependencies: ["InflightCore", "InflightConcurrency", "InflightTestSupport"]),
    ])
for target in package.targets where !target.name.hasPrefix("C") {
    target.swiftSettings = [.strictMemorySafety(), .enableUpcomingFeature("InternalImportsByDefault")]
}
"""


def failing_tests(copy):
    """The names of the tests that fail; None where they do not build, or crash."""
    run = subprocess.run(
        [patched.SWIFT, "test", "--package-path", str(copy), "--disable-xctest"], capture_output=True, text=True,
        env={**os.environ, "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH": "4"},
    )
    if "Test run with" not in run.stdout:
        print(f"{run.stdout[-3000:]}{run.stderr[-3000:]}", file=sys.stderr)
        return None
    return set(re.findall(r'✘ Test "(.*?)"(?: with \d+ test cases?)? failed after', run.stdout))


def tests_named(patch):
    return re.findall(r"^Test: (.*)$", patch.read_text(), re.MULTILINE)


def main(scratch, names):
    copy = pathlib.Path(scratch).resolve() / "rules"
    patched.copy_sources(copy, patched.files_in(FOLDERS) | {pathlib.Path(GENERATOR)})
    patched.write(copy / "Package.swift", PACKAGE.encode())
    failing = failing_tests(copy)
    if failing is None or failing:
        sys.exit("without any fault there fails: " + "; ".join(sorted(failing or ["the build, or everything"])))
    print("| rule taken out | tests that fail |\n|---|---|")
    missed = []
    for patch in patched.patches_in(patched.FAULTS / "Caching", names):
        with patched.applied(copy, patch):
            failing = failing_tests(copy)
        if failing is None:
            missed.append(f"{patch.stem} (does not build, or crashes)")
            continue
        passing = [name for name in tests_named(patch) if name not in failing]
        if passing or not tests_named(patch):
            missed.append(f"{patch.stem} ({'; '.join(passing) or 'names no test'})")
        print(f"| {patch.stem} | {len(failing)}{', and not those that should' if passing else ''} |", flush=True)
    if missed:
        sys.exit("not found: " + ", ".join(missed))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
