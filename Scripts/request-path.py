#!/usr/bin/env python3
"""Counts and lists the functions that one load enters: `make path`.

    Scripts/request-path.py SCRATCH [--page]

Runs the example `first-picture`, which loads one uncached image from a local server over HTTP, and prints two numbers:

- the named functions of the engine's core that the load enters, in the folders of `STAGES`, by stage and file. Other
  folders of the core hold value types and parsers. Accessors and closures are not counted.
- the named functions of the whole product that the program enters, from its start to its end.

With --page, prints the first as the table of `Documentation/Architecture.md`.
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
# The stages of a load, and the folders of the core that hold them.
STAGES = [
    ("call", "Pipeline"), ("plan", "Request"), ("task", "Tasks"), ("engine", "Engine"), ("memory", "Cache"),
    ("fetch", "Fetch"), ("store", "Store"), ("decode", "Decode"),
]
LONGEST = 80


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


def entered(data, files):
    """The length in lines of each named function that was entered, by its file, line and name."""
    found = {}
    for (name, line, _), (count, regions) in counted(data, lambda name: name in files).items():
        place = declaration(pathlib.Path(name).read_text().split("\n"), line) if count else None
        if place:
            length = max(region[2] for region in regions) - place[0] + 1
            # Closures inside the function map to the same declaration and are shorter.
            key = (name, *place)
            found[key] = max(length, found.get(key, 0))
    return found


def main(scratch, page):
    scratch = pathlib.Path(scratch).resolve()
    program = build(scratch, "first-picture", ROOT / "Examples")
    product = [str(path) for path in sorted((ROOT / "Sources").glob("**/*.swift"))]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data = measure(scratch, program, [f"http://127.0.0.1:{server.server_port}/image.png"], product)
    server.shutdown()

    functions = entered(data, set(product))
    total, files, long = 0, set(), []
    for stage, folder in STAGES:
        mine = {key: length for key, length in functions.items() if pathlib.Path(key[0]).parent == CORE / folder}
        names = sorted({pathlib.Path(name).name for name, _, _ in mine})
        if not page:
            print(f"{stage}:")
        for file in names:
            here = sorted((line, what, length) for (name, line, what), length in mine.items() if name.endswith("/" + file))
            if page:
                # Initializers say little without their type.
                called = dict.fromkeys(what for _, what, _ in here if what not in ("init", "deinit"))
                if called:
                    print(f"| {stage} | `{folder}/{file}` | " + ", ".join(f"`{what}`" for what in called) + " |")
            else:
                for line, what, length in here:
                    print(f"  {what}  {folder}/{file}:{line}, {length} lines")
            long += [f"{what} ({length})" for _, what, length in here if length > LONGEST]
        total, files = total + len(mine), files | {(folder, name) for name in names}
    if not page:
        print(f"\ncore: {total} functions in {len(files)} files; longer than {LONGEST} lines: {', '.join(long) or 'none'}")
        print(f"product: {len(functions)} functions in {len({name for name, _, _ in functions})} files")


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--page"]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    main(arguments[0], "--page" in sys.argv)
