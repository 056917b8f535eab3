"""A server on several loopback addresses, which are different hosts, and the command that `make` has built."""

import collections
import http.server
import os
import pathlib
import stat
import struct
import threading
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = os.environ.get("INFLIGHT")
needs_command = unittest.skipUnless(COMMAND, "set INFLIGHT to the built command")
# The server is on a loopback address and has no robots.txt; delays between retries would only make the tests longer.
LOCAL = {"allow_private": True, "retries": 0}


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * 7 + y * 3) & 255 for x in range(width * 3)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        site, host = self.server.site, self.headers["Host"]
        kind, _, number = self.path.strip("/").partition("/")
        if kind == "robots.txt":
            return self.answer(404, b"")
        with site.lock:
            site.running[host] += 1
            site.most[host] = max(site.most[host], site.running[host])
            site.count += 1
            if site.count == site.held_after:
                site.reached.set()
        if kind == "held":
            site.reached.set()
            site.released.wait(60)
        # Ends before the client can send its next request.
        with site.lock:
            site.running[host] -= 1
        if kind == "late" and not site.released.is_set():
            return self.answer(404, b"not yet")
        if kind in ("image", "held", "late"):
            return self.answer(200, site.image(int(number or 0)))
        if kind == "page":
            return self.answer(200, b"<!doctype html><title>no image</title>")
        return self.answer(404, b"nothing")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        """Clients that are killed close connections early."""


class Site:
    """Serves until the `with` statement ends.

    `/image/N` is a PNG of N % 40 + 20 by 30 pixels, different for each N below 40. `/held` waits for `released`, and
    `/late/N` is missing until then.
    `most` has the largest number of simultaneous requests of each host. `reached` is set by `/held`, and by the request
    number `held_after`.
    """

    def __init__(self, hosts=1, held_after=None):
        self.lock = threading.Lock()
        self.running, self.most = collections.Counter(), collections.Counter()
        self.count, self.held_after = 0, held_after
        self.reached, self.released = threading.Event(), threading.Event()
        self.images = {}
        self.servers = [Server((f"127.0.0.{n + 2}", 0), Handler) for n in range(hosts)]
        self.urls = [f"http://127.0.0.{n + 2}:{server.server_port}" for n, server in enumerate(self.servers)]

    def __enter__(self):
        for server in self.servers:
            server.site = self
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def image(self, number):
        if number % 40 not in self.images:
            self.images[number % 40] = png(20 + number % 40, 30)
        return self.images[number % 40]

    def rows(self, count):
        """Rows with ids: images of all hosts, every tenth of them missing."""
        return [
            {"id": f"row-{n}", "url": f"{self.urls[n % len(self.urls)]}/{'missing' if n % 10 == 9 else 'image'}/{n}"}
            for n in range(count)
        ]


def recording(folder):
    """A command that appends its process id to the file `pids`, and then is the real one."""
    path = pathlib.Path(folder) / "inflight"
    path.write_text(f'#!/bin/sh\necho $$ >> "{folder}/pids"\nexec "{COMMAND}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def pids(folder):
    path = pathlib.Path(folder) / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []
