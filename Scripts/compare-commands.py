#!/usr/bin/env python3
"""Compares two builds of the command: what they store and print for one list of URLs.

    Scripts/compare-commands.py OLD NEW [PART…]

OLD and NEW are programs, each with its decoders beside it. Serves a list on loopback (images in every form that the
command decodes in process, and answers that fail in every way), and runs each part with both programs:

- `get`: files, `--json`, `--har`, exit status, unchanged and re-encoded
- `cache`: the same list twice with a disk cache, of which the second run is served
- `formats`: one image in every output format, resized and processed
- `batch`: the bytes of tar shards, `--json`, `status`, `verify`
- `files`: `batch` into folders
- `stream`: the answers of `batch --stream`

Both programs see the same URLs, one load at a time. Times, and what depends on them, are left out of the comparison.
Prints the first difference of each output that differs. Fails if any does.
"""

import difflib
import http.server
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

# Members of JSON that hold times or what depends on them.
TIMES = re.compile(r"(^ms|seconds|time|timings|date|_ms|rate|per_second|elapsed|duration)$", re.IGNORECASE)
PATIENCE = 300


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, alpha=False):
    size = 4 if alpha else 3
    rows = b"".join(
        b"\0" + bytes((x * 7 + y * 13 + x * y) & 255 for x in range(width * size)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 6 if alpha else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(width, height):
    row = (width * 3 + 3) // 4 * 4
    pixels = bytes((index * 11) & 255 for index in range(row * height))
    return struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(pixels), 0, 0, 54, 40, width, height, 1, 24, 0,
                       len(pixels), 2835, 2835, 0, 0) + pixels


def ico(width, height):
    image = png(width, height, alpha=True)
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, width, height, 0, 0, 1, 32, len(image), 22) + image


# One frame of 1 × 1 pixels.
GIF = bytes.fromhex("47494638396101000100800000ff0000ffffff21f90401000000002c00000000010001000002024401003b")


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `answers`: path → (status, fields, body), or a body for status 200."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        answer = self.server.answers.get(self.path, (404, {}, b"nothing"))
        status, fields, body = answer if isinstance(answer, tuple) else (200, {"Cache-Control": "max-age=600"}, answer)
        if fields.get("ETag") and self.headers["If-None-Match"] == fields["ETag"]:
            status, body = 304, b""
        self.send_response_only(status)
        for name, value in {"Content-Length": len(body), **fields}.items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = fields.get("Connection") == "close"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients may close connections early."""


def run(command, *arguments, folder, text=""):
    done = subprocess.run(
        [str(command), *map(str, arguments)], input=text.encode(), capture_output=True, cwd=folder, timeout=PATIENCE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"})
    if done.returncode < 0:
        print(f"{command} {' '.join(map(str, arguments))}: signal {-done.returncode}", file=sys.stderr)
    return done


def convert(command, image, form):
    """An image in a format that Python cannot write, as OLD writes it. Both programs are given its bytes."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "in.png").write_bytes(image)
        done = run(command, "get", f"file://{folder}/in.png", "--format", form, "--no-cache", folder=folder)
        if done.returncode != 0:
            sys.exit(f"compare-commands: {command} cannot write {form}: {done.stderr.decode(errors='replace')}")
        return done.stdout


def answers(old):
    photo = png(160, 120)
    jpeg = convert(old, photo, "jpeg")
    page = b"<!doctype html><title>no image</title>"
    return {
        "/robots.txt": (404, {}, b""),
        "/a.png": photo, "/alpha.png": png(40, 30, alpha=True), "/b.jpg": jpeg, "/c.webp": convert(old, photo, "webp"),
        "/d.gif": GIF, "/e.bmp": bmp(20, 10), "/f.ico": ico(16, 16), "/large.png": png(700, 500),
        "/tagged.png": (200, {"ETag": '"1"', "Cache-Control": "no-cache"}, png(30, 20)),
        "/vary.png": (200, {"Vary": "Accept-Encoding", "Cache-Control": "max-age=600"}, png(31, 20)),
        "/private.png": (200, {"Cache-Control": "no-store"}, png(32, 20)),
        "/typed": (200, {"Content-Type": "image/png"}, png(33, 20)),
        "/lies.jpg": (200, {"Content-Type": "image/jpeg"}, png(34, 20)),
        "/named": (200, {"Content-Disposition": 'attachment; filename="cat.png"'}, png(35, 20)),
        "/sub/a.png": png(36, 20), "/a%20b.png?size=1&x=%2F": png(37, 20),
        "/moved": (302, {"Location": "/a.png"}, b""), "/permanent": (301, {"Location": "moved"}, page),
        "/loop": (302, {"Location": "/loop"}, b""), "/ftp": (302, {"Location": "ftp://a.example/"}, b""),
        "/gone": (410, {}, b"gone"), "/broken": (503, {}, b"not now"), "/denied": (403, {}, page),
        "/teapot": (418, {}, b""), "/page.png": (200, {"Content-Type": "text/html"}, page), "/empty.png": b"",
        "/cut.png": (200, {"Content-Length": len(photo), "Connection": "close"}, photo[:len(photo) // 2]),
        "/short.jpg": jpeg[:len(jpeg) // 2], "/damaged.png": photo[:200] + b"damage" + photo[206:],
        "/closed.png": (200, {"Content-Length": None, "Connection": "close"}, png(38, 20)),
        "/deflated.png": (200, {"Content-Encoding": "deflate"}, zlib.compress(png(39, 20))),
        "/nonsense.png": (200, {"Content-Encoding": "gzip"}, b"no gzip"),
        "/opted-out.png": (200, {"X-Robots-Tag": "noai"}, png(41, 20)),
        "/no-length.png": (200, {"Content-Length": "x"}, b""),
    }


class Run:
    """One program, its folder, and the addresses of both."""

    def __init__(self, command, folder, origin, paths):
        self.command, self.folder = command, folder
        self.urls = [origin + path for path in paths]
        # What never reaches the server.
        self.urls += ["gopher://a.example/1", "http://", "no URL", "data:image/gif;base64,R0lGOD", self.urls[0]]

    def __call__(self, *arguments, text=None):
        text = "".join(f"{url}\n" for url in self.urls) if text is None else text
        done = run(self.command, *arguments, folder=self.folder, text=text)
        return done.stdout, done.returncode

    def tree(self, name):
        """The files of a folder, by name."""
        top = self.folder / name
        paths = {str(path.relative_to(self.folder)): path for path in sorted(top.rglob("*")) if path.is_file()}
        return {name: content(path) for name, path in paths.items() if not PRIVATE.search(path.name)}


def content(path):
    content = path.read_bytes()
    return json_lines(content).encode() if path.name.endswith("_stats.json") else content


# Hidden files, indices, and what a run keeps for itself.
PRIVATE = re.compile(r"^\.|^journal\.sqlite|^input\.zst$|^command\.json$|^lock$")
PLAIN = ["--retries", "0", "--concurrency", "1", "--circuit-breaker", "0"]
BATCH = [*PLAIN, "--input-format", "text", "--allow-private"]


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if not TIMES.search(name)}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def json_lines(output, key=None):
    """Lines of JSON as text, one member a line, without times."""
    values = [without_times(json.loads(line)) for line in output.decode().splitlines() if line]
    if key:
        values.sort(key=key)
    return "\n".join(json.dumps(value, indent=1, sort_keys=True) for value in values)


def har(content):
    archive = without_times(json.loads(content))
    for entry in archive["log"]["entries"]:
        # The number of a port, or what depends on when a connection was closed.
        for name in ["connection", "_reusedConnection"]:
            entry.pop(name, None)
    return json.dumps(archive, indent=1, sort_keys=True)


def get(run):
    for name, options in [("plain", []), ("small", ["--size", "24x", "--fit", "cover", "--process", "blur:2,grey"]),
                          ("any", ["--any"]), ("incomplete", ["--incomplete", "--format", "png"])]:
        options = ["--no-cache", "--json", "--har", f"{name}.har", *PLAIN, *options]
        output, status = run("get", "-i", "-", "-o", name, *options)
        yield f"{name} --json", json_lines(output)
        yield f"{name} status", str(status)
        yield f"{name} --har", har((run.folder / f"{name}.har").read_bytes())
        yield f"{name} files", run.tree(name)


def cache(run):
    for name in ["first", "second"]:
        output, status = run("get", "-i", "-", "-o", name, "--cache", "cache", "--json", *PLAIN)
        yield f"{name} --json", json_lines(output)
        yield f"{name} status", str(status)
        yield f"{name} files", run.tree(name)


def formats(run):
    for path in ["/a.png", "/alpha.png", "/b.jpg", "/c.webp"]:
        url = next(url for url in run.urls if url.endswith(path))
        for form in ["jpeg", "png", "webp"]:
            for options in [[], ["--size", "50x40"], ["--size", "50x40", "--fit", "cover", "--linear"],
                            ["--process", "rotate:90,round:8,sharpen"], ["--quality", "40", "--progressive"]]:
                output, status = run("get", url, "--no-cache", "--format", form, *options, *PLAIN)
                yield f"{path} as {form} {' '.join(options)}", {"image": output, "status": str(status).encode()}


def batch(run, *options):
    for name, more in [("shards", ["--shard-size", "10"]), ("digests", ["--keys", "digest", "--dedupe", "content"])]:
        output, status = run("batch", "-", "-o", name, "--format", "png", "--size", "64x64", "--json", *BATCH, *more,
                             *options)
        # How many events of progress there are depends on the time.
        lines = [line for line in output.splitlines() if b'"progress"' not in line]
        yield f"{name} --json", json_lines(b"\n".join(lines))
        yield f"{name} status", str(status)
        yield f"{name} files", run.tree(name)
        for action in ["status", "verify"]:
            output, status = run("batch", action, name, "--json")
            yield f"{name} {action}", json_lines(output) + f"\n{status}"


def files(run):
    yield from batch(run, "--layout", "files")


def stream(run):
    rows = [{"id": str(number), "url": url} for number, url in enumerate(run.urls)]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"id":7}\nno row\n'
    options = ["--format", "jpeg", "--size", "64x64", "--allow-private", *PLAIN]
    output, status = run("batch", "--stream", *options, text=text)
    yield "answers", json_lines(output, key=lambda answer: answer.get("line", 0))
    yield "status", str(status)


PARTS = [get, cache, formats, batch, files, stream]


def first_difference(old, new):
    """The first difference of two outputs as text, or None."""
    if isinstance(old, dict):
        for name in sorted(old.keys() | new.keys()):
            if (before := old.get(name)) != (after := new.get(name)):
                sizes = [f"{len(each)} bytes" if each is not None else "absent" for each in (before, after)]
                at = ""
                if before is not None and after is not None:
                    shorter = min(len(before), len(after))
                    same = next((i for i in range(shorter) if before[i] != after[i]), shorter)
                    at = f", from byte {same}: {before[same:same + 16].hex(' ')} | {after[same:same + 16].hex(' ')}"
                return f"{name}: {sizes[0]} | {sizes[1]}{at}"
        return None
    if old == new:
        return None
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=4))
    end = next((i for i, line in enumerate(lines[3:], start=3) if line.startswith("@@")), len(lines))
    return "\n    ".join(line[:120] for line in lines[2:min(end, 24)])


def compare(old, new, parts):
    """The number of outputs, and the differing ones with their first difference."""
    server = Server(("127.0.0.1", 0), Handler)
    server.answers = answers(old)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    paths = [path for path in server.answers if path != "/robots.txt"]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="compare-commands-"))
    count, differing = 0, []
    try:
        for part in parts:
            outputs = []
            for command in (old, new):
                # A folder of the same path for both, because paths are in outputs.
                folder = scratch / "run"
                folder.mkdir()
                outputs.append(dict(part(Run(command, folder, origin, paths))))
                shutil.rmtree(folder)
            for name in outputs[0]:
                count += 1
                if found := first_difference(outputs[0][name], outputs[1][name]):
                    differing.append((f"{part.__name__}: {name}", found))
    finally:
        shutil.rmtree(scratch)
        server.shutdown()
        server.server_close()
    return count, differing


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    old, new = (pathlib.Path(each).resolve() for each in arguments[:2])
    names = {part.__name__: part for part in PARTS}
    if unknown := [name for name in arguments[2:] if name not in names]:
        sys.exit(f"compare-commands: no part {', '.join(unknown)}. Parts: {', '.join(names)}")
    try:
        count, differing = compare(old, new, [names[name] for name in arguments[2:]] or PARTS)
    except OSError as error:
        sys.exit(f"compare-commands: {error}")
    for name, found in differing:
        print(f"{name}\n    {found}\n")
    print(f"{count} outputs, {len(differing)} of them differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
