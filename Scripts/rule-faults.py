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

import faults

ROOT = faults.ROOT
PATCHES = ROOT / "Scripts" / "Faults" / "Caching"
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


def copy_sources(copy):
    wanted = {pathlib.Path(GENERATOR)}
    for folder in FOLDERS:
        wanted |= {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
    for part in ["Sources", "Tests"]:
        for path in [path for path in (copy / part).rglob("*") if path.is_file()]:
            if path.relative_to(copy) not in wanted:
                path.unlink()
    for path in wanted:
        faults.refresh(copy, path)
    package = copy / "Package.swift"
    if not package.exists() or package.read_text() != PACKAGE:
        package.write_text(PACKAGE)


def failing_tests(copy):
    """The names of the tests that fail; None where they do not build, or crash."""
    run = subprocess.run(
        [faults.SWIFT, "test", "--package-path", str(copy), "--disable-xctest"], capture_output=True, text=True,
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
    copy.mkdir(parents=True, exist_ok=True)
    patches = sorted(PATCHES.glob("*.patch"))
    if names:
        patches = [patch for patch in patches if patch.stem in names]
    copy_sources(copy)
    failing = failing_tests(copy)
    if failing is None or failing:
        sys.exit("without any fault there fails: " + "; ".join(sorted(failing or ["the build, or everything"])))
    print("| rule taken out | tests that fail |\n|---|---|")
    missed = []
    for patch in patches:
        before = faults.apply(copy, patch)
        try:
            failing = failing_tests(copy)
        finally:
            for path, content in before.items():
                path.write_bytes(content)
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
