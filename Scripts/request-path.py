#!/usr/bin/env python3
"""Lists the functions that one load calls: `make path`.

    Scripts/request-path.py SCRATCH

Runs the example `first-picture`, which loads one uncached image from a local server, and lists the functions called in
each stage of the engine, in order. Omits accessors, closures, value types, parsers and codecs.
"""

import http.server
import pathlib
import re
import struct
import sys
import threading
import zlib

from coverage import ROOT, build, counted, measure

CORE = ROOT / "Sources" / "Engine" / "InflightCore"
# The stages and their files. Other files hold value types or parsers, or take no part in such a load.
STAGES = [
    ("planning", [
        "Pipeline/ImagePipeline*.swift", "Tasks/TaskDriver.swift", "Request/RequestPlan*.swift",
        "Request/JobKey+Building.swift",
    ]),
    ("scheduling", ["Engine/Scheduler.swift", "Engine/Engine*.swift", "Cache/CachedImages.swift"]),
    ("fetch", ["Fetch/Fetch.swift", "Fetch/Fetch+*.swift", "Fetch/FetchStage.swift", "Fetch/RetryController.swift", "Transport/TransportTable.swift"]),
    ("decoding", ["Decode/DecodeStage.swift", "Decode/DecodeJob.swift", "Decode/PixelJobs.swift"]),
    ("delivery", ["Tasks/ImageTask*.swift", "Tasks/TaskEventBacklog.swift", "Tasks/CallbackSink.swift"]),
]
LONGEST = 60


def png():
    """A small grey image."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    pixels = zlib.compress(b"".join(b"\0" + bytes(range(64)) for _ in range(64)))
    header = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = png()
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def declaration(lines, line):
    """The line and name of the function that contains `line`, or `None` for an accessor."""
    for number in range(line, max(0, line - 40), -1):
        found = re.search(r"\b(?:func (\w+)|(init|deinit)\b(?=[(<?! ])|(?:var|subscript) ?\w*.*\{)", lines[number - 1])
        if found:
            name = found[1] or found[2]
            return (number, name) if name else None
    return None


def main(scratch):
    scratch = pathlib.Path(scratch).resolve()
    program = build(scratch, "first-picture", ROOT / "Examples")
    stages = {}
    for stage, patterns in STAGES:
        for pattern in patterns:
            for path in sorted(CORE.glob(pattern)):
                stages[str(path)] = stage
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data = measure(scratch, program, [f"http://127.0.0.1:{server.server_port}/image.png"], list(stages))
    server.shutdown()

    entered = {}
    for (name, line, _), (count, regions) in counted(data, lambda name: name in stages).items():
        found = declaration(pathlib.Path(name).read_text().split("\n"), line)
        if count and found:
            length = max(region[2] for region in regions) - found[0] + 1
            known = entered.setdefault(stages[name], {})
            # Closures inside the function map to the same declaration and are shorter.
            place = (pathlib.Path(name).name, *found)
            known[place] = max(length, known.get(place, 0))
    total, files, long = 0, set(), []
    for stage, _ in STAGES:
        print(f"{stage}:")
        for (file, line, what), length in sorted(entered.get(stage, {}).items()):
            print(f"  {what}  {file}:{line}, {length} lines")
            total, files = total + 1, files | {file}
            if length > LONGEST:
                long.append(what)
    print(f"\n{total} functions in {len(files)} files; longer than {LONGEST} lines: {', '.join(long) or 'none'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
