#!/usr/bin/env python3
"""Runs `inflight batch` against local servers under conditions that must not matter.

    INFLIGHT=COMMAND Scripts/batch-stress.py [--part kills|memory|slow|faults|hosts|streams]… [--scale S] [--seed N]

- kills: 1,000 times kill -9, on average 500 rows apart, over runs of 20,000 rows, each resumed. The output must have
  the bytes of an uninterrupted run, and a kill may repeat only the requests in flight and one batch of the journal.
  With `--then`, the store must have every file, and the folder of the run none.
- memory: 10,000,000 rows through a pipe, below 300 MB and without growth.
- slow: as many rows, half of them on one host that serves ten per second. Below 300 MB, and the other half may take
  twice as long as in a run without that host.
- faults: 1 % of the hosts hang, drip or send without end. The run may take the deadline of a URL and 5 s longer.
- hosts: 1,000 hosts, none of which may see a third request at once.
- streams: `--stream` with a reader that stops reading, goes away or interrupts, in bounded memory; a line of 1 GB, in
  streams and files; an input that ends within a line.

The scale multiplies the numbers of kills, rows and hosts: with 0.01, all parts take a few minutes. `memory` and
`slow` need nginx.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "Batch"))
sys.dont_write_bytecode = True
from server import Server, png  # noqa: E402

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
CONCURRENCY = 64
# The rows of a batch of the journal that is not committed: `BatchRun.uncommittedLimit`.
UNCOMMITTED = 64
OPTIONS = ["--format", "png", "--allow-private", "--retries", "0", "--quiet"]


def fail(text):
    sys.exit(f"batch-stress: failed: {text}")


def report(part, text):
    print(f"batch-stress: {part}: {text}", flush=True)


def run(arguments, **options):
    result = subprocess.run([INFLIGHT, "batch", *map(str, arguments)], capture_output=True, text=True, **options)
    return result.returncode, result.stdout, result.stderr


def verify(folder, rows=None):
    """Returns the report of `batch verify`, which must have no problems."""
    status, output, errors = run(["verify", folder, "--json"])
    found = json.loads(output) if output else {}
    if status != 0 or found.get("problem_count") != 0 or not found.get("complete"):
        fail(f"verify of {folder} ended with {status}: {output}{errors}")
    if rows is not None and found["rows"] != rows:
        fail(f"{folder} has {found['rows']} rows of {rows}")
    return found


# Kills


class Log:
    """The requests of all sessions of one run, and the kill of the current session."""

    def __init__(self, random):
        self.random = random
        self.last = {}
        self.session = 0
        self.refetches = {}
        self.repeated = 0
        self.count = 0
        self.target = None

    def begin(self):
        self.session += 1
        self.count = 0
        self.target = None

    def arm(self, process, after):
        self.target = (process, after)

    def __call__(self, path):
        before = self.last.get(path)
        if before == self.session:
            self.repeated += 1
        elif before is not None:
            # The kill at the end of that session has caused this.
            self.refetches[before] = self.refetches.get(before, 0) + 1
        self.last[path] = self.session
        self.count += 1
        if self.target and self.count >= self.target[1]:
            process, self.target = self.target[0], None
            # At any instruction: also a moment later, when a shard is written.
            timer = threading.Timer(self.random.choice([0, 0, 0.001, 0.005, 0.02]), process.send_signal, [signal.SIGKILL])
            timer.daemon = True
            timer.start()


VARIANTS = {
    "webdataset": ["--layout", "webdataset", "--caption-column", "caption"],
    "equal bodies once": ["--layout", "webdataset", "--dedupe", "content"],
    "files": ["--layout", "files", "--caption-column", "caption"],
    "hashed": ["--layout", "hashed"],
    "standard input": ["--layout", "webdataset", "--keys", "id", "--id-column", "id"],
    "handed over": ["--layout", "webdataset", "--caption-column", "caption", "--then"],
}
# Of two calls for one file, the later one replaces it.
THEN = """#!/bin/sh
cp "$1" "$STORE/.$$" && mv "$STORE/.$$" "$STORE/${1##*/}"
"""


def rows_of_kills(count, server, random):
    """Rows of 75 % missing URLs, 20 % images and 5 % duplicates."""
    urls = []
    for number in range(count):
        draw = random.random()
        if draw < 0.05 and urls:
            urls.append(random.choice(urls))
        else:
            urls.append(f"http://127.0.0.1:{server.port}/{'i' if draw < 0.25 else 'm'}/{number}")
    return [{"url": url, "id": f"row-{n}", "caption": f"row {n}", "n": n} for n, url in enumerate(urls)]


TIMES = rb'"(duration|start_time|end_time)":[0-9.]+'


def contents(folder):
    """The published files by name, without what differs between runs: the journal, and the times of shards."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith((".", "journal.", "command.json")):
            data = path.read_bytes()
            found[name] = re.sub(TIMES, b"", data) if name.endswith("_stats.json") else data
    return found


def check_archives(folder, rows):
    """Each row with an image is in an archive, once, with its URL."""
    found = []
    for archive in sorted(folder.glob("*.tar")):
        with tarfile.open(archive) as members:
            for member in members:
                if member.name.endswith(".json"):
                    found.append(json.loads(members.extractfile(member).read()))
    expected = [(row["n"], row["url"]) for row in rows if "/i/" in row["url"]]
    if [(row["n"], row["url"]) for row in found] != expected:
        fail(f"{folder} has {len(found)} images of {len(expected)}, or in another order")


def published(folder, store):
    """The files of a run, which it has handed over and removed if there is a store."""
    if store is None:
        return contents(folder)
    if left := sorted(path.name for path in folder.glob("0*")):
        fail(f"{folder} has files that were handed over: {left}")
    return contents(store)


def kills(scale, random):
    wanted, count = max(1, round(1000 * scale)), max(2000, round(20_000 * min(1, scale)))
    done, runs, worst, log = 0, 0, 0, None
    images = {}
    with tempfile.TemporaryDirectory() as name, Server(
            image=lambda n: images.setdefault(n % 512, png(n % 512)), on_request=lambda path: log(path)) as server:
        folder = pathlib.Path(name)
        rows = rows_of_kills(count, server, random)
        listed = folder / "rows.jsonl"
        listed.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        limits = ["--concurrency", CONCURRENCY, "--per-host", CONCURRENCY, "--shard-size", 500, *OPTIONS]
        references = {}
        then = folder / "then.sh"
        then.write_text(THEN)
        then.chmod(0o755)
        while done < wanted:
            variant = list(VARIANTS)[runs % len(VARIANTS)]
            hands_over = variant == "handed over"
            source = ["-", "--input-format", "jsonl"] if variant == "standard input" else [listed]

            def command(output):
                return [*source, "-o", output, *VARIANTS[variant], *([then] if hands_over else []), *limits]

            def store(output):
                if not hands_over:
                    return None
                place = output.with_name(f"{output.name}-store")
                place.mkdir(exist_ok=True)
                os.environ["STORE"] = str(place)
                return place

            if variant not in references:
                log = Log(random)
                log.begin()
                reference = store(folder / "reference")
                with listed.open() as stdin:
                    status, _, errors = run(command(folder / "reference"), stdin=stdin)
                if status != 0:
                    fail(f"the uninterrupted run ended with {status}: {errors}")
                verify(folder / "reference", None if hands_over else count)
                if VARIANTS[variant][1] == "webdataset":
                    check_archives(reference or folder / "reference", rows)
                references[variant] = published(folder / "reference", reference)
                shutil.rmtree(folder / "reference")
            log = Log(random)
            output = folder / f"run-{runs}"
            taken = store(output)
            while True:
                log.begin()
                with listed.open() as stdin:
                    process = subprocess.Popen(
                        [INFLIGHT, "batch", *map(str, command(output))], stdin=stdin, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True)
                if done < wanted:
                    log.arm(process, random.randint(1, 1000))
                text = process.communicate()[0]
                server.drain()
                if process.returncode == 0:
                    break
                if process.returncode != -signal.SIGKILL:
                    fail(f"a resumed run ended with {process.returncode}: {text}")
                done += 1
            runs += 1
            verify(output, None if hands_over else count)
            if published(output, taken) != references[variant]:
                shutil.copytree(taken or output, f"batch-stress-{variant}", dirs_exist_ok=True)
                fail(f"the output of a killed run ({variant}) differs; see batch-stress-{variant}")
            shutil.rmtree(output)
            # Shards that leave share no images, so that a URL is requested again for each of them.
            if not hands_over:
                if log.repeated:
                    fail(f"{log.repeated} URLs were requested twice by one process ({variant})")
                worst = max(worst, *log.refetches.values(), 0)
            report("kills", f"{done} of {wanted} kills, {runs} runs of {count} rows; most repeated requests: {worst}")
    if worst > CONCURRENCY + UNCOMMITTED:
        fail(f"a kill repeated {worst} requests, more than {CONCURRENCY} + {UNCOMMITTED}")


# Memory


NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 4096; }}
http {{
    access_log off; default_type image/png; keepalive_requests 1000000000; root {folder};
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    limit_req_zone $server_name zone=slow:1m rate=10r/s;
    server {{
        listen 0.0.0.0:{port};
        server_name 127.2.0.1;
        location / {{ limit_req zone=slow burst=1000; try_files /none =404; }}
    }}
    server {{
        listen 0.0.0.0:{port} default_server backlog=4096;
        location = /status {{ stub_status; }}
        location /m/ {{ return 404; }}
        location /i/ {{ try_files /image.png =404; }}
        location / {{ return 404; }}
    }}
}}
"""


class Nginx:
    def __enter__(self):
        self.files = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.files.name)
        (folder / "image.png").write_bytes(png(1, 64, 64))
        with socket.create_server(("127.0.0.1", 0)) as unused:
            self.port = unused.getsockname()[1]
        (folder / "conf").write_text(NGINX.format(folder=folder, port=self.port))
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or fail("nginx is not installed")
        self.process = subprocess.Popen([program, "-c", folder / "conf", "-p", folder], stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.05)
        fail(f"nginx does not listen: {(folder / 'errors').read_text()}")

    def requests(self):
        """The number of requests so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status") as status:
            return int(status.read().split()[9])

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.files.cleanup()


def resident(process):
    """The resident memory of a process, in MB: now, and at its peak."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return [int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024 for field in ("VmRSS", "VmHWM")]
    except (OSError, TypeError):
        return None


def memory(scale, random):
    count = max(100_000, round(10_000_000 * scale))
    with tempfile.TemporaryDirectory() as name, Nginx() as server:
        output = pathlib.Path(name) / "out"
        process = subprocess.Popen(
            [INFLIGHT, "batch", "-", "--input-format", "text", "-o", output, "--concurrency", "128", "--per-host", "128",
             *OPTIONS], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        samples, started = [], time.monotonic()
        for first in range(0, count, 10_000):
            lines = [
                f"http://127.0.0.1:{server.port}/{'i' if number % 100 < 2 else 'm'}/{number}\n"
                for number in range(first, min(count, first + 10_000))]
            try:
                process.stdin.write("".join(lines))
            except BrokenPipeError:
                break
            samples.append(resident(process) or samples[-1])
        errors = process.communicate()[1]
        seconds = time.monotonic() - started
        if process.returncode != 0:
            fail(f"the run of {count} rows ended with {process.returncode}: {errors}")
        verify(output, count)
    now = [sample[0] for sample in samples]
    peak = samples[-1][1]
    middle, end = max(now[len(now) // 3:2 * len(now) // 3]), max(now[2 * len(now) // 3:])
    report("memory", f"{count} rows in {seconds:.0f} s ({count / seconds:.0f}/s), peak {peak:.0f} MB; "
                     f"second third {middle:.0f} MB, last third {end:.0f} MB")
    if peak >= 300:
        fail(f"{peak:.0f} MB of memory, not below 300 MB")
    if end > middle * 1.1 + 8:
        fail(f"memory grew from {middle:.0f} MB to {end:.0f} MB")


# A slow host


def rows_of_slow(server, count, has_slow):
    """Pieces of a list. Every second row is on the slow host, or left out."""
    for first in range(0, count, 10_000):
        lines = []
        for number in range(first, min(count, first + 10_000)):
            kind = "i" if number % 100 < 2 else "m"
            if number % 2 == 0:
                lines.append(f"http://127.1.0.{1 + number // 2 % 250}:{server.port}/{kind}/{number}\n")
            elif has_slow:
                lines.append(f"http://127.2.0.1:{server.port}/m/{number}\n")
        yield "".join(lines)


def feed(pipe, pieces):
    try:
        with pipe:
            for piece in pieces:
                pipe.write(piece)
    except BrokenPipeError:
        pass


def run_of_slow(server, folder, count, shard_size, patience, has_slow):
    """Returns the seconds until the other half had its responses, those until the end, and the memory over time."""
    process = subprocess.Popen(
        [INFLIGHT, "batch", "-", "--input-format", "text", "-o", folder, "--concurrency", "128", "--shard-size",
         str(shard_size), "--host-patience", str(patience), *OPTIONS],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    threading.Thread(
        target=feed, args=(process.stdin, rows_of_slow(server, count, has_slow)), daemon=True).start()
    process.stdin = None
    started, before, polls, others, samples = time.monotonic(), server.requests(), 0, None, []
    while process.poll() is None:
        time.sleep(0.2)
        seconds, polls = time.monotonic() - started, polls + 1
        # Each host has its robots.txt, and this loop its requests. Those of the slow host are few.
        if others is None and server.requests() - before >= count // 2 + polls + 250:
            others = seconds
        samples.append(resident(process) or samples[-1])
    seconds, errors = time.monotonic() - started, process.communicate()[1]
    if process.returncode != 0:
        fail(f"the run of {count} rows ended with {process.returncode}: {errors}")
    found = verify(folder, count if has_slow else count // 2)
    if found["images"] != count // 100:
        fail(f"{found['images']} images of {count // 100}")
    shutil.rmtree(folder)
    return others or seconds, seconds, samples


def slow(scale, random):
    # At least 200 shards. Patience counts in the 16 oldest ones, so nearly all rows of the host wait at the same time.
    count, patience = max(20_000, round(10_000_000 * scale) // 100 * 100), max(10, round(60 * scale))
    shard_size = max(100, min(10_000, count // 200))
    with tempfile.TemporaryDirectory() as name, Nginx() as server:
        folder = pathlib.Path(name) / "out"
        alone, whole, _ = run_of_slow(server, folder, count, shard_size, patience, False)
        others, seconds, samples = run_of_slow(server, folder, count, shard_size, patience, True)
    now = [sample[0] for sample in samples]
    peak = samples[-1][1]
    middle, end = max(now[len(now) // 3:2 * len(now) // 3]), max(now[2 * len(now) // 3:])
    report("slow", f"{count} rows, half of one slow host: the others after {others:.0f} s, {alone:.0f} s without it; "
                   f"the end after {seconds:.0f} s, {whole:.0f} s; peak {peak:.0f} MB, second third {middle:.0f} MB, "
                   f"last third {end:.0f} MB")
    if others > 2 * alone + 5:
        fail(f"a slow host delays the others: {others:.0f} s instead of {alone:.0f} s")
    steps = count // shard_size // 16 + 2
    if seconds > others + whole + 1.5 * steps * patience:
        fail(f"{seconds:.0f} s, more than {steps} times the patience of {patience} s allow")
    if peak >= 300:
        fail(f"{peak:.0f} MB of memory, not below 300 MB")
    if end > middle * 1.1 + 16:
        fail(f"memory grew from {middle:.0f} MB to {end:.0f} MB")


# Hosts


def host(number):
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{1 + number % 250}"


def timed(folder, lines, *options):
    """Runs a list, and returns how long it took."""
    listed = folder.with_suffix(".txt")
    listed.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    started = time.monotonic()
    status, _, errors = run([listed, "-o", folder, "--concurrency", 256, "--per-host", 2, *options, *OPTIONS])
    if status != 0:
        fail(f"the run ended with {status}: {errors}")
    seconds = time.monotonic() - started
    return seconds, verify(folder, len(lines))


def faults(scale, random):
    hosts, deadline = max(200, round(2000 * scale)), 5
    with tempfile.TemporaryDirectory() as name, Server(delay=0.01) as server:
        def url(number, kind, row):
            return f"http://{host(number)}:{server.port}/{kind}/{row}"

        good = [url(number, "i" if row == 0 else "m", row) for number in range(hosts) for row in range(5)]
        # At least one host of each kind.
        count = max(3, hosts // 100)
        bad = [url(hosts + number, ["hang", "drip", "endless"][number % 3], row) for number in range(count) for row in range(2)]
        options = ["--timeout", deadline, "--stall-timeout", 3, "--max-bytes", 1_000_000_000]
        without, _ = timed(pathlib.Path(name) / "good", good, *options)
        lines = good + bad
        random.shuffle(lines)
        seconds, found = timed(pathlib.Path(name) / "all", lines, *options)
        report("faults", f"{count} of {hosts + count} hosts faulty: {seconds:.1f} s instead of {without:.1f} s, "
                         f"deadline {deadline} s")
        if found["images"] != hosts:
            fail(f"{found['images']} images of {hosts}")
        if seconds > without + deadline + 5:
            fail(f"{seconds:.1f} s, more than {without:.1f} s + {deadline} s + 5 s")


def hosts(scale, random):
    count, rows = max(100, round(1000 * scale)), 20
    with tempfile.TemporaryDirectory() as name, Server(delay=0.02) as server:
        lines = [f"http://{host(n)}:{server.port}/{random.choice('im')}/{row}" for n in range(count) for row in range(rows)]
        random.shuffle(lines)
        seconds, _ = timed(pathlib.Path(name) / "out", lines)
        highest = max(server.highest.values())
        report("hosts", f"{len(lines)} rows of {len(server.highest)} hosts in {seconds:.1f} s; "
                        f"at most {highest} requests at once to a host")
        if highest > 2 or len(server.highest) != count:
            fail(f"a host saw {highest} requests at once; the limit is 2")


# Streams and endless lines


def stream(process_input):
    return subprocess.Popen(
        [INFLIGHT, "batch", "--stream", "--per-host", "16", *OPTIONS], stdin=process_input, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def stuck(server, listed, requests, rows, ending):
    """A stream whose reader takes one line. Returns its peak memory."""
    requests.clear()
    with listed.open() as source:
        process = stream(source)
    process.stdout.readline()
    # Until it requests nothing any more.
    last = -1
    while last != len(requests):
        last = len(requests)
        time.sleep(1)
    peak = resident(process)[1]
    if not 0 < last < rows // 2:
        fail(f"a stream whose reader stopped requested {last} of {rows} rows")
    started = time.monotonic()
    if ending == "interrupt":
        process.send_signal(signal.SIGINT)
        expected = 130
    elif ending == "close":
        process.stdout.close()
        expected = 141
    else:
        answers = sum(1 for _ in process.stdout)
        if answers != rows:
            fail(f"{answers} answers to {rows} rows")
        expected = 0
    status = process.wait(timeout=600)
    if status != expected:
        fail(f"a stream whose reader stopped ({ending}) ended with {status}: {process.stderr.read()}")
    if ending != "read" and time.monotonic() - started > 5:
        fail(f"a stream whose reader stopped ended {time.monotonic() - started:.0f} s after the {ending}")
    return peak


def long_line(arguments, size, ending):
    """Feeds a command a line of that size between two rows. Returns its status, its output and its peak memory."""
    process = subprocess.Popen(
        [INFLIGHT, "batch", *map(str, arguments), *OPTIONS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    row = b'{"id":"a","url":"file:///a"}\n'
    process.stdin.write(row + b'{"id":"b","url":"')
    piece = b"b" * (1 << 20)
    for _ in range(size >> 20):
        process.stdin.write(piece)
    process.stdin.flush()
    peak = resident(process)[1]
    process.stdin.write(b'"}\n' + row + ending)
    output, errors = process.communicate()
    return process.returncode, output.decode(), errors.decode(), peak


def streams(scale, random):
    rows, size, requests = 2000, min(1 << 30, max(16 << 20, round((1 << 30) * 10 * scale) >> 20 << 20)), []
    # No compression makes it smaller than 170 KB.
    noise = png(0, 240, 240, pixels=random.randbytes(240 * 240 * 3))
    peaks = []
    with tempfile.TemporaryDirectory() as name, Server(
            image=lambda _: noise, on_request=lambda path: requests.append(path)) as server:
        folder = pathlib.Path(name)
        listed = folder / "rows.jsonl"
        listed.write_text("".join(
            json.dumps({"id": str(n), "url": f"http://127.0.0.{1 + n % 50}:{server.port}/i/{n}"}) + "\n"
            for n in range(rows)))
        peaks += [stuck(server, listed, requests, rows, ending) for ending in ("interrupt", "close", "read")]
        text = f"a reader that stopped: peak {max(peaks):.0f} MB"
        # The last row has no end.
        status, output, errors, peak = long_line(["--stream"], size, b'{"id":"c","url":"fi')
        answers = [json.loads(line) for line in output.splitlines()[1:]]
        found = sorted((answer["line"], answer["status"], answer["error_class"]) for answer in answers)
        if status != 0 or found != [
                (1, "failed_to_download", "unsupportedScheme"), (2, "rejected", "malformed"),
                (3, "failed_to_download", "unsupportedScheme"), (4, "rejected", "malformed")]:
            fail(f"a stream with a line of {size >> 20} MB ended with {status}, {found}: {errors}")
        text += f"; a line of {size >> 20} MB: {peak:.0f} MB in a stream"
        peaks.append(peak)
        output = folder / "out"
        status, _, errors, peak = long_line(
            ["-", "--input-format", "jsonl", "-o", output], size, b'{"id":"c","url":"fi')
        rejects = [json.loads(line) for line in (output / "rejects.jsonl").read_text().splitlines()]
        if status != 0 or [reject["line"] for reject in rejects] != [2, 4] or "longer than" not in str(rejects[0]):
            fail(f"a line of {size >> 20} MB: status {status}, {rejects}: {errors}")
        verify(output, 2)
        report("streams", f"{text}, {peak:.0f} MB in a run")
        peaks.append(peak)
    if max(peaks) >= 200:
        fail(f"{max(peaks):.0f} MB of memory, not below 200 MB")


def main():
    parts = {"kills": kills, "memory": memory, "slow": slow, "faults": faults, "hosts": hosts, "streams": streams}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(parts), help="run only this part; may be repeated")
    parser.add_argument("--scale", type=float, default=1, help="multiply kills, rows and hosts (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    options = parser.parse_args()
    for part in options.part or parts:
        parts[part](options.scale, random.Random(options.seed))


if __name__ == "__main__":
    main()
