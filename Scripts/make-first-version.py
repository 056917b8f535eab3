#!/usr/bin/env python3
"""Makes the folders of version 0.1.0 that `FirstVersionTests` opens with each later build.

    Scripts/make-first-version.py COMMAND

COMMAND is the `inflight` of a build of 0.1.0 whose journals have version 1, such as commit c2355bf7. Run once: later
builds must read what it wrote. Writes the file FIXTURE, a compressed archive in base64, whose parts are at ORIGIN:

- `cache`: a disk cache whose process was killed, with its log: small and large bodies, a variant, a redirect, a part
- `batch`: a finished run: two shards, images, failures and a duplicate
- `run`: a run whose process was killed, with a finished shard, and staged rows of two more
- `rows.txt`: the rows of `run`, of which the last ones were not fetched
"""

import base64
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "Report"))
from server import Pictures, QuietServer, png  # noqa: E402

FIXTURE = ROOT / "Tests/InflightCLITests/Fixtures/first-version.tar.gz.base64"
# No server listens there when the tests run.
PORT = 46805
ORIGIN = f"http://127.0.0.1:{PORT}"
PATIENCE = 60


class Answers(Pictures):
    def do_GET(self):
        name = self.path.lstrip("/")
        fields = {"Cache-Control": "max-age=864000", "ETag": f'"{name}"'}
        if name.startswith("held"):
            self.server.released.wait(PATIENCE)
        elif name == "moved":
            self.reply(301, b"", Location="/0.png", **fields)
        elif name == "vary.png":
            self.reply(200, png(12, 9), Vary="Accept-Language", **fields)
        elif name == "large.png":
            # More than 64 KiB, so that the cache gives it a file of its own.
            self.reply(200, png(16, 9) + bytes(range(256)) * 300, **fields)
        elif name == "part.png":
            self.reply(200, png(200, 90) + bytes(400_000), cut=300_000, **fields)
        elif re.fullmatch(r"\d+\.png", name):
            number = int(name.partition(".")[0])
            self.reply(200, png(8 + number, 6), **fields)
        else:
            self.reply(404, b"nothing")

    def reply(self, status, body, cut=None, **fields):
        self.send_response(status)
        for field, value in {"Content-Type": "image/png", "Content-Length": len(body), **fields}.items():
            self.send_header(field.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body[:cut])
        self.close_connection = cut is not None


class Maker:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def run(self, *arguments, text="", statuses=(0,)):
        done = subprocess.run([self.command, *arguments], cwd=self.folder, input=text, capture_output=True, text=True)
        if done.returncode not in statuses:
            sys.exit(f"make-first-version: {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def kill(self, *arguments, text, once):
        """Runs a command and kills it once a condition is met."""
        running = subprocess.Popen([self.command, *arguments], cwd=self.folder, stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.stdin.write(text)
        running.stdin.flush()
        deadline = time.monotonic() + PATIENCE
        while not once():
            if time.monotonic() > deadline or running.poll() is not None:
                running.kill()
                sys.exit(f"make-first-version: {' '.join(arguments)} has not come so far")
            time.sleep(0.1)
        running.kill()
        running.wait()
        running.stdin.close()

    def make(self):
        urls = ["0.png", "1.png", "large.png", "vary.png", "moved", "part.png", "held"]
        self.kill(
            "get", "-i", "-", "--discard", "--cache", "cache", "--retries", "0",
            text="".join(f"{ORIGIN}/{url}\n" for url in urls),
            once=lambda: self.run("cache", "list", "--cache", "cache").count(ORIGIN) == 6)

        options = ["--input-format", "text", "--format", "png", "--allow-private", "--ignore-robots", "--retries", "0",
                   "--shard-size", "4"]
        rows = ["0.png", "1.png", "0.png", "gone.png", "4.png", "5.png", "broken"]
        self.run("batch", "-", "-o", "batch", *options, text="".join(f"{ORIGIN}/{row}\n" for row in rows))

        rows = [*rows[:6], "6.png", "gone.png", "8.png", "held-1.png", "10.png", "held-2.png", "held-3.png"]
        text = "".join(f"{ORIGIN}/{row}\n" for row in rows)
        (self.folder / "rows.txt").write_text(text)
        # The input stays open, so that the run cannot end. Two rows at a time are fetched from one host.
        self.kill("batch", "-", "-o", "run", *options, "--per-host", "3", text=text,
                  once=lambda: '"rows":10,' in self.status("run"))

    def status(self, name):
        if not (self.folder / name / "journal.sqlite").exists():
            return ""
        return self.run("batch", "status", name, "--json")


def archive(folder):
    """A compressed archive in base64, with the same owner for all files."""
    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name, filter=plain)
    return output.getvalue()


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    server = QuietServer(("127.0.0.1", PORT), Answers)
    server.released = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            Maker(pathlib.Path(arguments[0]).resolve(), pathlib.Path(folder)).make()
            written = archive(pathlib.Path(folder))
    finally:
        server.released.set()
        server.shutdown()
    FIXTURE.parent.mkdir(exist_ok=True)
    FIXTURE.write_bytes(base64.encodebytes(written))
    print(f"{FIXTURE.relative_to(ROOT)}: {FIXTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
