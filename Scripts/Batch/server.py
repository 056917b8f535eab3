"""A server on loopback for bulk downloads, on one thread: fast enough for thousands of requests per second.

The path selects the response: `/i/N` is image N, `/hang/N` no response, `/drip/N` a byte per second, `/endless/N` a body
without an end, and everything else status 404. Each address 127.x.y.z is a host of its own.
"""

import asyncio
import collections
import struct
import threading
import zlib


def png(number, width=8, height=8, maker=None, pixels=None):
    """An image that is different for each number, with the EXIF tag Make if there is a maker, or of these RGB pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    seed = struct.pack(">Q", number * 0x9E3779B97F4A7C15 % 2**64)
    if pixels:
        rows = b"".join(b"\0" + pixels[y * width * 3:(y + 1) * width * 3] for y in range(height))
    else:
        rows = b"".join(b"\0" + bytes(seed[(x + y) % 8] for x in range(width * 3)) for y in range(height))
    exif = b""
    if maker:
        text = maker.encode() + b"\0"
        entry = struct.pack(">HHII", 0x010F, 2, len(text), 26)
        exif = chunk(b"eXIf", b"MM\0*" + struct.pack(">IH", 8, 1) + entry + struct.pack(">I", 0) + text)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + exif + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def response(body, status="200 OK", kind="image/png"):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


MISSING = response(b"nothing here\n", "404 Not Found", "text/plain")


class Connection(asyncio.Protocol):
    def __init__(self, server):
        self.server = server
        self.received = b""

    def connection_made(self, transport):
        self.server.connections += 1
        self.transport = transport
        self.host = transport.get_extra_info("sockname")[0]

    def connection_lost(self, _):
        self.server.connections -= 1

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            self.server.requested(self, path)

    def send(self, data):
        if not self.transport.is_closing():
            self.transport.write(data)

    def drip(self, start, piece, interval):
        """Sends a piece again and again, until the client closes the connection."""
        self.send(start)

        def again():
            if not self.transport.is_closing():
                if self.transport.get_write_buffer_size() < 1 << 20:
                    self.transport.write(piece)
                self.server.loop.call_later(interval, again)

        again()


class Server:
    """Serves until the `with` statement ends.

    - image: returns the bytes of image N.
    - delay: the time before each response, in seconds.
    - on_request: called on the server's thread with the path of each request, except robots.txt.
    """

    def __init__(self, image=png, delay=0.0, on_request=lambda path: None):
        self.image, self.delay, self.on_request = image, delay, on_request
        self.connections = 0
        self.running = collections.Counter()
        self.highest = collections.Counter()

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        listening = threading.Event()
        threading.Thread(target=self.serve, args=(listening,), daemon=True).start()
        listening.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)

    def serve(self, listening):
        asyncio.set_event_loop(self.loop)
        listener = self.loop.run_until_complete(
            self.loop.create_server(lambda: Connection(self), "0.0.0.0", 0, backlog=4096))
        self.port = listener.sockets[0].getsockname()[1]
        listening.set()
        self.loop.run_forever()

    def drain(self):
        """Waits until all requests of a process that has ended were read."""

        async def closed():
            idle = 0
            while idle < 3:
                idle = 0 if self.connections else idle + 1
                await asyncio.sleep(0.005)

        asyncio.run_coroutine_threadsafe(closed(), self.loop).result()

    def requested(self, connection, path):
        host = connection.host
        self.running[host] += 1
        self.highest[host] = max(self.highest[host], self.running[host])
        if path != "/robots.txt":
            self.on_request(path)
        if self.delay:
            self.loop.call_later(self.delay, self.answer, connection, path)
        else:
            self.answer(connection, path)

    def answer(self, connection, path):
        self.running[connection.host] -= 1
        kind, _, number = path[1:].partition("/")
        if kind == "i":
            connection.send(response(self.image(int(number))))
        elif kind == "hang":
            pass
        elif kind == "drip":
            connection.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"\x89", 1)
        elif kind == "endless":
            connection.drip(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n", bytes(65536), 0.01)
        else:
            connection.send(MISSING)
