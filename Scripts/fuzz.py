#!/usr/bin/env python3
"""Fuzzes the parsers of untrusted input with libFuzzer: `make fuzz`.

    Scripts/fuzz.py SCRATCH SECONDS [--keep] [TARGET…]

Each file in Fuzzing/Seeds is the corpus of one target: one input per line, in ASCII, with the escapes \\n, \\r, \\t,
\\\\ and \\xHH. Builds the program in Fuzzing/ with the address sanitizer, and runs each target for SECONDS of
processor time, also on the inputs that earlier runs found (SCRATCH/corpus). Prints a table with the covered edges. If a
target crashes, hangs or violates a property, the script prints the input as a line for its seeds, and fails.

With --keep, adds new inputs to the seeds if they are short and cover code that no other input covers.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "Fuzzing" / "Seeds"
SWIFT = os.environ.get("SWIFT", "swift")
# Inputs take microseconds, so exceeding the time or memory limit is a fault.
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=2048"]
# The exit status of libFuzzer after a SIGINT.
INTERRUPTED = 72
KEPT_INPUTS = 48
KEPT_BYTES = 160
ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord("\\"): "\\\\"}


def line_of(data):
    """Encodes bytes as a line of a file of seeds."""
    text = "".join(ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}") for byte in data)
    # Editors strip white space at the ends of lines.
    text = re.sub(r"^ ", r"\\x20", text)
    return re.sub(r" $", r"\\x20", text)


def bytes_of(line):
    """Decodes a line of a file of seeds."""
    return re.sub(
        r"\\(x[0-9a-fA-F]{2}|.)", lambda found: chr(int(found[1][1:], 16)) if found[1][0] == "x"
        else {"n": "\n", "r": "\r", "t": "\t"}.get(found[1], found[1]), line,
    ).encode("latin-1")


def seeds_of(path):
    return [bytes_of(line) for line in path.read_text(encoding="ascii").splitlines() if line]


def build(scratch):
    # SwiftPM's option leaves `main` to libFuzzer. Only the compiler's option can combine two sanitizers.
    command = [
        SWIFT, "build", "--package-path", str(ROOT / "Fuzzing"), "--scratch-path", str(scratch / "build"),
        "-c", "release", "--product", "InflightFuzz", "-Xswiftc", "-enable-testing", "--sanitize", "fuzzer",
        "-Xswiftc", "-sanitize=fuzzer,address", "-Xcc", "-fsanitize=address",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"building the fuzzing program failed:\n{done.stdout}{done.stderr}")
    shown = subprocess.run([*command, "--show-bin-path"], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / "InflightFuzz"


def environment(target):
    # libFuzzer reports crashes; Swift's backtrace would take minutes.
    return {**os.environ, "INFLIGHT_FUZZ": target, "SWIFT_BACKTRACE": "enable=no"}


def processor_seconds(pid):
    """The processor time of a process so far, which does not depend on the load of the machine."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_for(program, target, seconds, arguments, log):
    """Runs a target until it ends or has used `seconds` of processor time. Returns its status and the time used."""
    used = 0.0
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [str(program), *LIMITS, *arguments], stdout=subprocess.DEVNULL, stderr=output, env=environment(target))
        while process.poll() is None:
            used = max(used, processor_seconds(process.pid))
            if used >= seconds:
                process.send_signal(signal.SIGINT)
                return (0 if process.wait() == INTERRUPTED else process.returncode), used
            time.sleep(0.2)
    return process.returncode, used


def lay_out_corpus(scratch, path):
    """Adds a target's seeds to the folder of its inputs. Returns the folder."""
    folder = scratch / "corpus" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds_of(path)):
        (folder / f"seed-{number:03}").write_bytes(data)
    return folder


def keep(program, path, folder):
    """Adds the short inputs of a minimal set with the same coverage to a target's seeds."""
    least = folder.parent / f"{path.stem}-least"
    shutil.rmtree(least, ignore_errors=True)
    least.mkdir()
    subprocess.run(
        [str(program), *LIMITS, "-merge=1", str(least), str(folder)], capture_output=True, check=False,
        env=environment(path.stem))
    found = sorted((file.read_bytes() for file in least.iterdir()), key=lambda data: (len(data), data))
    old = seeds_of(path)
    new = [data for data in found if data and len(data) <= KEPT_BYTES and data not in old]
    lines = [line_of(data) for data in old + new[: max(0, KEPT_INPUTS - len(old))]]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    shutil.rmtree(least)


def fuzz(program, path, scratch, seconds):
    """Fuzzes a target. Returns its row of the table, and its failures with their inputs."""
    folder = lay_out_corpus(scratch, path)
    crashes = scratch / "crashes" / path.stem
    shutil.rmtree(crashes, ignore_errors=True)
    crashes.mkdir(parents=True)
    log = crashes.with_suffix(".log")
    status, used = run_for(
        program, path.stem, seconds, ["-print_final_stats=1", f"-artifact_prefix={crashes}/", str(folder)], log)
    told = log.read_text(errors="replace")
    executions = re.search(r"stat::number_of_executed_units: (\d+)", told)
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", told)
    edges, features, inputs = covered[-1] if covered else ("", "", "")
    row = f"| {path.stem} | {used:.0f} s | {executions[1] if executions else ''} | {edges} | {features} | {inputs} |"
    failures = [file for file in sorted(crashes.iterdir()) if not file.name.startswith("slow-unit")]
    if status == 0 and not failures:
        return row, []
    said = re.findall(r"^does not hold: .*$|^.*Fatal error: .*$|^SUMMARY: .*$", told, re.MULTILINE)
    why = "; ".join(said) or told[-2000:]
    return row, [f"{path.stem}: {why}", *(f"    {line_of(file.read_bytes())}" for file in failures)]


def main(scratch, seconds, options):
    scratch = pathlib.Path(scratch).resolve()
    names = [option for option in options if option != "--keep"]
    paths = [path for path in sorted(SEEDS.glob("*.txt")) if not names or path.stem in names]
    if unknown := set(names) - {path.stem for path in paths}:
        sys.exit(f"unknown target: {', '.join(sorted(unknown))}")
    program = build(scratch)
    print("| target | processor time | inputs run | edges | features | corpus |\n|---|---|---|---|---|---|", flush=True)
    broken = []
    for path in paths:
        row, failures = fuzz(program, path, scratch, seconds)
        print(row, flush=True)
        broken += failures
        if "--keep" in options and not failures:
            keep(program, path, scratch / "corpus" / path.stem)
    if broken:
        sys.exit("\n".join(broken))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
