"""A server on loopback for the command, with images, an HTML page, redirects and errors."""

import http.server
import struct
import threading
import zlib


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * 7 + y * 3) & 255 for x in range(width * 3)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Pictures(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path
        if path.startswith("/held"):
            self.server.asked.set()
            self.server.released.wait(60)
        if path.startswith("/moved"):
            return self.answer(302, b"", location="/picture-7.png")
        if path.startswith("/broken"):
            return self.answer(503, b"not now")
        if path.startswith("/page"):
            return self.answer(200, b"<!doctype html><title>no picture</title>", kind="text/html")
        if path.startswith("/picture-"):
            number = int(path[9:].partition(".")[0])
            return self.answer(200, png(20 + number * 3, 16 + number * 2), kind="image/png")
        return self.answer(404, b"nothing")

    def answer(self, status, body, kind="text/plain", location=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients may close connections early."""


class Server:
    """Serves until the `with` statement ends. Requests for `/held` wait for `released`, at most 60 s."""

    def __enter__(self):
        self.server = QuietServer(("127.0.0.1", 0), Pictures)
        self.asked = self.server.asked = threading.Event()
        self.released = self.server.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
