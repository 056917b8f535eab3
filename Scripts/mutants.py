#!/usr/bin/env python3
"""Checks that the suites find deliberate faults: `make mutation-test`.

    Scripts/mutants.py --check
    Scripts/mutants.py SCRATCH [NAME…]
    Scripts/mutants.py --in-place NAME… [-- FLAGS-OF-SWIFT-BUILD…]

The tables in Scripts/Mutants hold the mutants, by subject. A mutant has a sentence that describes its fault from
outside (`fault`), so that it can be made again in other code, a `file`, a text that occurs exactly once in it (`find`),
and the text that replaces it (`replace`; without it, the text is removed). `also` lists further edits, in the same file
unless they name another. Each table names the suite that must find its mutants:

- `simulator`: `inflight-simulate` finds a violation of the contract within 10,000 schedules.
- `rules`: at least the unit tests of HTTP's rules that the mutant names (`tests`) fail.
- `views`: GTKChecks sees wrong cells under Xvfb, in its own grid and in the gallery. Requires `Scripts/deps.sh gtk`.

With --check, only checks that every fault is described, once in its suite, that every text occurs exactly once, and that
the tests of the rules name no type of other tests. Otherwise applies each mutant in turn to a copy of the sources,
builds the copy and runs the suite. NAME selects mutants by name or table. Prints a table with the findings. Fails if a
mutant is not found.

With --in-place, for a few mutants of the suite `simulator` in CI: changes the files of the working tree, which must not
differ from the last commit, and restores them. So only these files are built again.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWIFT = os.environ.get("SWIFT", "swift")
SCHEDULES = 10_000
BINDS = "4000"
# This package contains only the rules and their tests, so that it builds in seconds.
PACKAGE_OF_RULES = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "rules",
    targets: [
        .target(name: "CInflightConcurrency", path: "Sources/Kit/CInflightConcurrency"),
        .target(
            name: "InflightConcurrency", dependencies: ["CInflightConcurrency"], path: "Sources/Kit/InflightConcurrency"),
        .target(name: "InflightFiles", path: "Sources/Kit/InflightFiles"),
        .target(name: "CInflightImages", path: "Sources/Engine/CInflightImages"),
        .target(
            name: "InflightImages", dependencies: ["CInflightImages", "InflightConcurrency"],
            path: "Sources/Engine/InflightImages"),
        .target(
            name: "InflightCore", dependencies: ["InflightImages", "InflightConcurrency", "InflightFiles"],
            path: "Sources/Engine/InflightCore"),
        .target(name: "InflightTestSupport", path: "Sources/Verification/InflightTestSupport"),
        .testTarget(
            name: "InflightCoreTests", dependencies: ["InflightCore", "InflightConcurrency", "InflightTestSupport"]),
    ])
for target in package.targets where !target.name.hasPrefix("C") {
    target.swiftSettings = [.strictMemorySafety(), .enableUpcomingFeature("InternalImportsByDefault")]
}
"""


class Broken(Exception):
    """A copy that does not build, or a suite that does not finish."""


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env={**os.environ, **environment})


def build(*flags):
    # A debug build: most mutants are found within seconds, and only changed files are compiled again.
    built = run(SWIFT, "build", "--disable-index-store", *flags)
    if built.returncode != 0:
        raise Broken(f"the copy does not build:\n{built.stdout[-3000:]}{built.stderr[-3000:]}")


def simulator(copy, mutant, flags=()):
    flags = ["--package-path", copy, "--product", "inflight-simulate", *flags]
    build(*flags)
    folder = pathlib.Path(run(SWIFT, "build", *flags, "--show-bin-path").stdout.strip())
    count = SCHEDULES if mutant else 500
    done = run(folder / "inflight-simulate", "--count", count, "--threads", 1, "--standstill", 10)
    found = re.search(r"^seed (\d+) (?:violates a rule|stalls): (contract \d+: .*)$", done.stdout, re.MULTILINE)
    if not found and done.returncode < 0:
        return True, f"crashed with signal {-done.returncode}"
    return bool(found), f"schedule {found[1]}: {found[2]}" if found else f"nothing in {count} schedules"


def rules(copy, mutant):
    # With its index, from which SwiftPM discovers tests.
    done = run(SWIFT, "test", "--package-path", copy, "--disable-xctest", "--enable-swift-testing",
               SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="4")
    if "Test run with" not in done.stdout:
        raise Broken(f"the tests do not build, or crash:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    failing = set(re.findall(r'✘ Test "(.*?)"(?: with \d+ test cases?)? failed after', done.stdout))
    if not mutant:
        return bool(failing), "; ".join(sorted(failing))
    passing = [name for name in mutant["tests"] if name not in failing]
    return not passing, f"{len(failing)} tests fail" + "".join(f"; “{name}” does not" for name in passing)


def views(copy, mutant):
    # SwiftPM detects changed files by their contents, not by their times.
    build("--package-path", copy / "GTK", "--scratch-path", copy / "build")
    seen = {}
    for place, part in {"grid": "no cell", "gallery": "the gallery"}.items():
        done = run("xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", copy / "build/debug/GTKChecks", part,
                   "--binds", BINDS, GSK_RENDERER="cairo")
        if not (told := re.search(r"(\d+) wrong\b", done.stdout)):
            raise Broken(f"GTKChecks does not count wrong cells:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        seen[place] = int(told[1])
    found = all(seen.values()) if mutant else any(seen.values())
    return found, ", ".join(f"{count} wrong cells in the {place}" for place, count in seen.items())


# Each suite, and the files that it needs.
SUITES = {
    "simulator": (simulator, ["Package.swift", "Sources", "Tests", "Fuzzing"]),
    "rules": (rules, [
        "Sources/Kit/CInflightConcurrency", "Sources/Kit/InflightConcurrency", "Sources/Kit/InflightFiles",
        "Sources/Engine/CInflightImages", "Sources/Engine/InflightImages", "Sources/Engine/InflightCore",
        "Tests/InflightCoreTests/HTTP/Caching", "Tests/InflightCoreTests/HTTP/Retry",
        "Sources/Verification/InflightTestSupport/Support/SeededGenerator.swift",
    ]),
    "views": (views, ["Package.swift", "Sources", "Tests", "Fuzzing", "GTK/Package.swift", "GTK/Sources", "GTK/Tests"]),
}


def read_tables(folder=ROOT / "Scripts/Mutants"):
    """The mutants by name, each with its table and suite."""
    mutants = {}
    for path in sorted(folder.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        suite = table.pop("suite")
        if taken := mutants.keys() & table.keys():
            sys.exit(f"{path.name}: another table has mutants of the same names: {', '.join(taken)}")
        mutants |= {name: {**mutant, "suite": suite, "table": path.stem} for name, mutant in table.items()}
    return mutants


def mutated(mutant, root):
    """The files that a mutant changes, and their texts with its edits."""
    texts = {}
    for edit in [mutant, *mutant.get("also", [])]:
        file = edit.get("file", mutant["file"])
        text = texts[file] if file in texts else (root / file).read_text(encoding="utf-8")
        if (count := text.count(edit["find"])) != 1:
            raise ValueError(f"{file} has this text {count} times, not once:\n{edit['find']}")
        texts[file] = text.replace(edit["find"], edit.get("replace", ""))
    return texts


def problems_in(mutants, root=ROOT):
    described = set()
    for name, mutant in mutants.items():
        fault = mutant.get("suite"), mutant.get("fault", "")
        if not re.fullmatch(r"\S.* .*\w.*\.", fault[1]) or fault in described:
            yield (f"Scripts/Mutants/{mutant['table']}.toml: {name}: `fault` must be a sentence that describes no other "
                   "mutant of its suite")
        described.add(fault)
        try:
            mutated(mutant, root)
        except (OSError, ValueError) as error:
            yield f"Scripts/Mutants/{mutant['table']}.toml: {name}: {error}"


def strangers(root=ROOT):
    """The types of other tests that the tests of the rules name, which are not in the suite's package."""
    at_top = re.compile(r"^(?:\w+ )*(?:class|struct|enum|actor|protocol) (\w+)", re.MULTILINE)
    texts = {file: file.read_text(encoding="utf-8") for file in (root / "Tests/InflightCoreTests").rglob("*.swift")}
    mine = {file for name in SUITES["rules"][1] for file in (root / name).rglob("*.swift")} & texts.keys()
    others = {name for file in texts.keys() - mine for name in at_top.findall(texts[file])}
    for file in sorted(mine):
        aliases = set(re.findall(r"\btypealias (\w+)", texts[file]))
        if named := sorted(others & set(re.findall(r"\w+", texts[file])) - aliases):
            yield (f"{file.relative_to(root)} uses {', '.join(named)}, which the suite of the rules does not build: move "
                   "the test to another folder")


def write(target, content):
    """Writes a file unless it has this content, so that an unchanged file is not built again."""
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def prepare(copy, suite):
    """Copies the files that the suite needs from the project, and removes all others from the copy."""
    paths = [ROOT / name for name in SUITES[suite][1]]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    contents = {copy / file.relative_to(ROOT): file.read_bytes() for file in files}
    if suite == "rules":
        contents[copy / "Package.swift"] = PACKAGE_OF_RULES.encode()
    for folder in ["Sources", "Tests", "GTK"]:
        for file in (copy / folder).rglob("*"):
            if file.is_file() and file not in contents:
                file.unlink()
    for file, content in contents.items():
        write(file, content)


def check_in_place(names, flags):
    mutants = read_tables()
    if wrong := [name for name in names if mutants.get(name, {}).get("suite") != "simulator"]:
        sys.exit(f"not a mutant of the suite simulator: {', '.join(wrong)}")
    changed = run("git", "-C", ROOT, "status", "--porcelain", "--", "Sources").stdout
    if changed:
        sys.exit(f"--in-place needs an unchanged working tree, but these files differ from the last commit:\n{changed}")
    missed = [name for name in names if not try_mutant(
        ROOT, name, mutants[name], lambda copy, mutant: simulator(copy, mutant, flags))]
    if missed:
        sys.exit("not found: " + ", ".join(missed))


def try_mutant(copy, name, mutant, look):
    """Applies a mutant, runs its suite, restores the files, and prints a row. Returns whether the suite found it."""
    texts = mutated(mutant, copy)
    before = {file: (copy / file).read_bytes() for file in texts}
    try:
        for file, text in texts.items():
            (copy / file).write_text(text, encoding="utf-8")
        found, told = look(copy, mutant)
    except Broken as broken:
        print(f"{name}: {broken}", file=sys.stderr)
        found, told = False, "nothing: the copy does not build, or its suite does not finish"
    finally:
        for file, content in before.items():
            (copy / file).write_bytes(content)
    print(f"| {name} | {mutant['suite']} | {told} |", flush=True)
    return found


def main(scratch, names):
    mutants = read_tables()
    known = mutants.keys() | {mutant["table"] for mutant in mutants.values()}
    if unknown := set(names) - known:
        sys.exit(f"unknown mutant or table: {', '.join(sorted(unknown))}")
    chosen = {suite: {name: mutant for name, mutant in mutants.items()
                      if mutant["suite"] == suite and (not names or {name, mutant["table"]} & set(names))}
              for suite in SUITES}
    print("| mutant | suite | found by |\n|---|---|---|")
    # Two at once, as a build of one changed file occupies one processor.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        missed = sum(pool.map(lambda suite: check(scratch, suite, chosen[suite]), SUITES), [])
    if missed:
        sys.exit("not found: " + ", ".join(missed))


def check(scratch, suite, mutants):
    """Tries the mutants of one suite in its own copy of the sources, and returns the names of those it did not find."""
    if not mutants:
        return []
    look, copy = SUITES[suite][0], pathlib.Path(scratch).resolve() / suite
    prepare(copy, suite)
    found, told = look(copy, None)
    if found:
        sys.exit(f"the suite {suite} reports a fault in the unchanged sources: {told}")
    return [name for name, mutant in mutants.items() if not try_mutant(copy, name, mutant, look)]


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join([*problems_in(read_tables()), *strangers()]) or 0)
    in_place, arguments = sys.argv[1:2] == ["--in-place"], sys.argv[1:]
    if in_place and "--" in arguments:
        arguments, flags = arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]
    else:
        flags = []
    if len(arguments) < (2 if in_place else 1) or any(argument.startswith("-") for argument in arguments[in_place:]):
        sys.exit(__doc__)
    try:
        if in_place:
            check_in_place(arguments[1:], flags)
        else:
            main(arguments[0], arguments[1:])
    except Broken as broken:
        sys.exit(f"without a mutant, {broken}")
