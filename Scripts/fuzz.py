#!/usr/bin/env python3
"""Has libFuzzer throw bytes at whatever reads them from strangers: `make fuzz`.

    Scripts/fuzz.py SCRATCH SECONDS [--keep] [TARGET…]

Each file in Fuzzing/Seeds is a target's corpus: an input on each line, in ASCII, with \\n, \\r, \\t, \\\\ and \\xHH for the
rest. The program of Fuzzing/ is built with the address sanitizer, and each target runs for SECONDS of processor time, on
what earlier runs have found too (SCRATCH/corpus). Prints a table, with the edges of the program's code that were
reached. Where a target crashes, hangs or finds a property broken, the input is printed as a line for its seeds, and the
run fails.

With --keep what was found, as far as it is short and reaches what no other input does, becomes a line of the seeds.
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
# An input takes microseconds; one that takes so long, or so much, is a fault.
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=2048"]
# What libFuzzer ends with after a SIGINT.
INTERRUPTED = 72
KEPT_INPUTS = 48
KEPT_BYTES = 160
ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord("\\"): "\\\\"}


def line_of(data):
    """Bytes as a line of a file of seeds."""
    text = "".join(ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}") for byte in data)
    # No white space at the ends, which editors take away.
    text = re.sub(r"^ ", r"\\x20", text)
    return re.sub(r" $", r"\\x20", text)


def bytes_of(line):
    """What a line of a file of seeds stands for."""
    return re.sub(
        r"\\(x[0-9a-fA-F]{2}|.)", lambda found: chr(int(found[1][1:], 16)) if found[1][0] == "x"
        else {"n": "\n", "r": "\r", "t": "\t"}.get(found[1], found[1]), line,
    ).encode("latin-1")


def seeds_of(path):
    return [bytes_of(line) for line in path.read_text(encoding="ascii").splitlines() if line]


def build(scratch):
    # SwiftPM's own option says that libFuzzer has `main`; the compiler's says what to build with, both at once.
    command = [
        SWIFT, "build", "--package-path", str(ROOT / "Fuzzing"), "--scratch-path", str(scratch / "build"),
        "-c", "release", "--product", "InflightFuzz", "-Xswiftc", "-enable-testing", "--sanitize", "fuzzer",
        "-Xswiftc", "-sanitize=fuzzer,address", "-Xcc", "-fsanitize=address",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the fuzzing program does not build:\n{done.stdout}{done.stderr}")
    shown = subprocess.run([*command, "--show-bin-path"], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / "InflightFuzz"


def environment(target):
    # Swift's own report of a crash would take minutes, and libFuzzer makes one.
    return {**os.environ, "INFLIGHT_FUZZ": target, "SWIFT_BACKTRACE": "enable=no"}


def processor_seconds(pid):
    """What a process has used of all processors so far, which a busy machine does not change."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_for(program, target, seconds, arguments, log):
    """Runs a target until it has used so much processor time, or ends by itself: its status, and the time it used."""
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
    """The folder of a target's inputs, with its seeds."""
    folder = scratch / "corpus" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds_of(path)):
        (folder / f"seed-{number:03}").write_bytes(data)
    return folder


def keep(program, path, folder):
    """Makes the shortest inputs that reach all that is reached the target's seeds."""
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
    """A row of the table, and the inputs that break something."""
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
        sys.exit(f"no such target: {', '.join(sorted(unknown))}")
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
