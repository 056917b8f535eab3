#!/usr/bin/env python3
"""Shows the functions that one load goes through: `make path`.

    Scripts/request-path.py SCRATCH

Has the command load one image that nothing has cached, from a server on this machine, decoded and resized, and prints what
was entered of the engine's stages, in their order. Accessors and closures are not counted, nor are values, parsers and codecs.
"""

import http.server
import pathlib
import re
import struct
import sys
import tempfile
import threading
import zlib

from coverage import ROOT, build, counted, measure, title

CORE = ROOT / "Sources" / "InflightCore"
# A stage, and its files. What is no file here is a value, a parser, or no part of such a load.
STAGES = [
    ("planning", ["Pipeline/ImagePipeline*.swift", "Request/RequestPlan*.swift"]),
    ("scheduling", ["Engine/Engine*.swift"]),
    ("fetch", ["Fetch/FetchJob*.swift", "Transport/TransportTable.swift"]),
    ("decoding", ["Engine/DecodeJob.swift", "Engine/PixelJobs.swift", "Engine/*Decoding.swift"]),
    ("delivery", ["Tasks/*.swift"]),
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


def main(scratch):
    scratch = pathlib.Path(scratch).resolve()
    program = build(scratch, "inflight")
    stages = {}
    for stage, patterns in STAGES:
        for pattern in patterns:
            for path in sorted(CORE.glob(pattern)):
                stages[str(path)] = stage
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{server.server_port}/image.png"
        data = measure(scratch, program, ["get", "--width", "32", "-o", folder, url], list(stages))
    server.shutdown()

    entered = {}
    for (name, line, _), (count, regions) in counted(data, lambda name: name in stages).items():
        text = pathlib.Path(name).read_text().split("\n")
        what = title(text, line)
        is_accessor = what == "closure" or re.search(r"\bvar \w+", text[line - 1]) or text[line - 1].strip() in ("get {", "set {")
        if count and not is_accessor:
            length = max(region[2] for region in regions) - line + 1
            entered.setdefault(stages[name], []).append((pathlib.Path(name).name, line, what, length))
    total, files, long = 0, set(), []
    for stage, _ in STAGES:
        print(f"{stage}:")
        for file, line, what, length in sorted(entered.get(stage, [])):
            print(f"  {what}  {file}:{line}, {length} lines")
            total, files = total + 1, files | {file}
            if length > LONGEST:
                long.append(what)
    print(f"\n{total} functions in {len(files)} files; longer than {LONGEST} lines: {', '.join(long) or 'none'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
