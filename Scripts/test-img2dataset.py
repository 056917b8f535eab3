#!/usr/bin/env python3
"""Downloads the same list with img2dataset 1.47 and with `inflight batch`, and compares them row by row.

    INFLIGHT=COMMAND Scripts/test-img2dataset.py [FOLDER]

A local server behaves in more than 100 ways: formats and damage of images, statuses, redirects, framing of HTTP, slow
and broken connections, opt-outs, URLs. Each row must have the same status, sizes, hash and columns, or differ as
`EXPLAINED` says; an explanation that no longer holds is an error, too. FOLDER (default .build/img2dataset) keeps a
virtual environment with img2dataset, which it installs if necessary.
"""

import asyncio
import csv
import functools
import gzip
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import zlib

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
PACKAGES = ["img2dataset==1.47.0", "pillow"]
REPEATS, SIZE, TIMEOUT = 2, 64, 5

OK, NO_BODY, NO_IMAGE = "success", "failed_to_download", "failed_to_resize"
# What differs, by kind: the status there and here, or the names of other fields; and why.
EXPLAINED = {
    # Images
    "jpeg-grey": ("channels", "grey images become JPEG with three channels here, with one there"),
    "png-grey": ("channels", "as jpeg-grey"),
    "png-two-colours": ("channels", "as jpeg-grey"),
    "jpeg-rotated": (
        "colours, height, original_height, original_width, pixels, width", "images are upright here: EXIF is applied"),
    "jpeg-without-end": (f"{NO_IMAGE}, {OK}", "only the end marker is missing: all pixels are there"),
    "png-16-bits": ("colours", "there, the upper and the lower bytes of the samples are mixed"),
    "tiff": ("exif", "there, the tags of TIFF itself count as EXIF"),
    "half-a-pixel": ("height, pixels", "64 × 22.5 pixels: half a pixel is rounded to even there, up here"),
    "wide": ("colours", "one line of pixels remains: an average there, Lanczos here"),
    "ico": (f"{NO_IMAGE}, {OK}", "a format of this program only"),
    "jpeg-2000": (f"{OK}, {NO_IMAGE}", "a format of OpenCV only"),
    "ppm": (f"{OK}, {NO_IMAGE}", "as jpeg-2000"),
    "hdr": (f"{OK}, {NO_IMAGE}", "as jpeg-2000; there, the image is nearly black"),
    # Statuses and redirects
    "status-103-first": (f"{NO_BODY}, {OK}", "there, only status 100 may come before the response"),
    "status-204": (f"{NO_IMAGE}, {NO_BODY}", "without content there is no body here, and an empty one there"),
    "status-206": (f"{OK}, {NO_BODY}", "no range was requested: the body may be a part"),
    "redirects-11": (f"{NO_BODY}, {OK}", "at most 20 redirects here (--max-redirects), 10 there"),
    "redirects-20": (f"{NO_BODY}, {OK}", "as redirects-11"),
    "redirect-with-cookie": (f"{NO_BODY}, {OK}", "cookies that a redirect sets are sent within a load here"),
    # Framing
    "gzip": (f"{NO_IMAGE}, {OK}", "content codings are decoded here"),
    "deflate": (f"{NO_IMAGE}, {OK}", "as gzip"),
    "coding-claimed": (f"{OK}, {NO_BODY}", "the body is not gzip, as the response says; there, codings are ignored"),
    "fields-many": (f"{NO_BODY}, {OK}", "at most 100 header fields there"),
    "fields-long": (f"{NO_BODY}, {OK}", "at most 64 KiB for a line there"),
    "fields-without-colon": (f"{OK}, {NO_BODY}", "malformed headers are errors here"),
    "length-negative": (f"{OK}, {NO_BODY}", "a malformed length is an error here: the body may be cut"),
    "length-text": (f"{OK}, {NO_BODY}", "as length-negative"),
    "length-two-values": (f"{OK}, {NO_BODY}", "as length-negative: the first one counts there"),
    "slow-body": (f"{OK}, {NO_BODY}", "--timeout bounds the whole transfer here, each wait there"),
    # Clients
    "by-agent": (f"{OK}, {NO_BODY}", "the user agent is honest here; --header sends another"),
    "by-accept": (f"{NO_BODY}, {OK}", "there, no Accept is sent"),
    # Opt-outs
    "robots-none": (f"{OK}, {NO_BODY}", "`none` includes noindex (Google's definition)"),
    "robots-of-inflight": (f"{OK}, {NO_BODY}", "addressed to this program"),
    "tdm-reservation": (f"{OK}, {NO_BODY}", "TDMRep is respected here"),
    # URLs
    "url-spaces-around": ("url", "white space around URLs is removed here"),
    "url-space-inside": (f"{NO_BODY}, {OK}", "escaped here, as browsers do"),
    "url-letters": (f"{NO_BODY}, {OK}", "as url-space-inside"),
    "url-dots": (f"{NO_BODY}, {OK}", "dots in paths are resolved here, as browsers do"),
    "url-user": (f"{NO_BODY}, {OK}", "there, the user is part of the host"),
    "url-data": (f"{OK}, {NO_BODY}", "only http and https here"),
    "url-file": (f"{NO_IMAGE}, {NO_BODY}", "as url-data: there, files of this machine are read"),
}

THERE = [
    "--input_format=csv", "--caption_col=caption", "--save_additional_columns=[\"kind\",\"number\"]",
    "--output_format=webdataset", f"--image_size={SIZE}", "--resize_mode=keep_ratio_largest",
    "--resize_only_if_bigger=True", f"--timeout={TIMEOUT}", "--processes_count=1", "--thread_count=64",
    "--enable_wandb=False"]
HERE = [
    "--caption-column", "caption", "--size", f"{SIZE}x{SIZE}", "--format", "jpg", "--quality", "95", "--timeout",
    str(TIMEOUT), "--stall-timeout", str(TIMEOUT), "--retries", "0", "--ignore-robots", "--per-host", "64",
    "--allow-private", "--circuit-breaker", "0"]


# Images


def pixels(number, width=100, height=60, mode="RGB"):
    """An image of flat areas that is different for each number."""
    from PIL import Image

    image = Image.new("RGB", (width, height), (number * 40 % 256, 200, 90))
    image.paste((20, 30, number * 70 % 256), (0, 0, max(1, width // 2), max(1, height // 2)))
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.linear_gradient("L").resize((width, height)))
    return image.convert(mode)


def encoded(format, number, width=100, height=60, mode="RGB", **options):
    stream = io.BytesIO()
    pixels(number, width, height, mode).save(stream, format, **options)
    return stream.getvalue()


@functools.cache
def jpeg(number, width=100, height=60, **options):
    return encoded("JPEG", number, width, height, **options)


def with_exif(number, tag, value):
    from PIL import Image

    exif = Image.Exif()
    exif[tag] = value
    return jpeg(number, exif=exif.tobytes())


def animated(format):
    return lambda n: encoded(format, n, save_all=True, append_images=[pixels(n + 1), pixels(n + 2)], duration=100)


def written(suffix, number, depth=8):
    """An image that OpenCV writes."""
    import cv2
    import numpy as np

    array = np.array(pixels(number))
    return cv2.imencode(suffix, array.astype(np.uint16) * 257 if depth == 16 else array)[1].tobytes()


def interlaced(number):
    """A PNG of one pixel that says it is interlaced, which changes nothing for one pixel."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes((0, number, 2, 3)))) + \
        chunk(b"IEND", b"")


def bad_checksum(number):
    data = bytearray(encoded("PNG", number))
    data[data.index(b"IDAT") - 5] ^= 1  # of the header
    return bytes(data)


IMAGES = {
    "jpeg": jpeg,
    "jpeg-progressive": lambda n: jpeg(n, progressive=True),
    "jpeg-grey": lambda n: jpeg(n, mode="L"),
    "jpeg-cmyk": lambda n: jpeg(n, mode="CMYK"),
    "jpeg-upright": lambda n: with_exif(n, 0x0112, 1),
    "jpeg-rotated": lambda n: with_exif(n, 0x0112, 6),
    "jpeg-camera": lambda n: with_exif(n, 0x010F, "Maker"),
    "jpeg-trailing-bytes": lambda n: jpeg(n) + b"more" * 10,
    "jpeg-leading-bytes": lambda n: b"\n\n" + jpeg(n),
    "jpeg-half": lambda n: jpeg(n)[:len(jpeg(n)) // 2],
    "jpeg-without-end": lambda n: jpeg(n)[:-2],
    "jpeg-header-only": lambda n: jpeg(n)[:20],
    "png": lambda n: encoded("PNG", n),
    "png-grey": lambda n: encoded("PNG", n, mode="L"),
    "png-alpha": lambda n: encoded("PNG", n, mode="RGBA"),
    "png-grey-alpha": lambda n: encoded("PNG", n, mode="LA"),
    "png-palette": lambda n: encoded("PNG", n, mode="P"),
    "png-two-colours": lambda n: encoded("PNG", n, mode="1"),
    "png-16-bits": lambda n: written(".png", n, 16),
    "png-interlaced": interlaced,
    "png-half": lambda n: encoded("PNG", n)[:120],
    "png-bad-checksum": bad_checksum,
    "webp": lambda n: encoded("WEBP", n),
    "webp-lossless": lambda n: encoded("WEBP", n, lossless=True),
    "webp-alpha": lambda n: encoded("WEBP", n, mode="RGBA"),
    "webp-animated": animated("WEBP"),
    "webp-half": lambda n: encoded("WEBP", n)[:60],
    "gif": lambda n: encoded("GIF", n),
    "gif-animated": animated("GIF"),
    "bmp": lambda n: encoded("BMP", n),
    "tiff": lambda n: encoded("TIFF", n),
    "jpeg-2000": lambda n: encoded("JPEG2000", n),
    "avif": lambda n: encoded("AVIF", n),
    "ico": lambda n: encoded("ICO", n, 48, 48),
    "ppm": lambda n: encoded("PPM", n),
    "hdr": lambda n: written(".hdr", n),
    "svg": lambda n: b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="%d"/>' % (9 + n),
    "one-pixel": lambda n: encoded("PNG", n, 1, 1),
    "as-large": lambda n: jpeg(n, SIZE, SIZE),
    "smaller": lambda n: jpeg(n, 40, 30),
    "tall": lambda n: jpeg(n, 4, 900),
    "wide": lambda n: jpeg(n, 1500, 10),
    "half-a-pixel": lambda n: jpeg(n, 256, 90),
    "large": lambda n: jpeg(n, 3000, 2000),
    "html": lambda n: b"<!doctype html><title>%d</title>" % n,
    "json": lambda n: b'{"error": %d}' % n,
    "pdf": lambda n: b"%%PDF-1.4\n%% %d" % n,
    "nothing": lambda n: b"",
    "zeros": lambda n: bytes(100 + n),
}


# Responses


def answer(body, status="200 OK", fields=(), kind="image/jpeg"):
    """A response: what is sent before the connection is closed. A number is a pause, `None` a reset."""
    lines = [
        f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *fields]
    return ["\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body]


def framed(body, *fields, version="1.1"):
    return ["\r\n".join([f"HTTP/{version} 200 OK", *fields, "", ""]).encode() + body]


def chunked(body, ending=b"0\r\n\r\n"):
    pieces = [body[:100], body[100:]]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + ending


def redirect(status, target):
    return lambda n: answer(b"", status, [f"Location: {target.format(n=n)}"])


def sent(status):
    return lambda n: answer(jpeg(n), status)


def by_agent(n, request):
    return answer(jpeg(n)) if b"Mozilla" in request else answer(b"", "403 Forbidden")


def by_field(name):
    return lambda n, request: answer(jpeg(n)) if name in request.lower() else answer(b"", "403 Forbidden")


def slowly(body):
    """A response in eight pieces, whose pauses are shorter than the timeout, but not all together."""
    head, size = framed(b"", f"Content-Length: {len(body)}"), len(body) // 7
    return head + [part for start in range(0, len(body), size) for part in (TIMEOUT / 5, body[start:start + size])]


def opt_out(field):
    return lambda n: answer(jpeg(n), fields=[field])


RESPONSES = {
    # Statuses
    **{f"status-{code}": sent(f"{code} X") for code in (
        201, 202, 203, 206, 226, 300, 304, 400, 401, 403, 404, 410, 418, 429, 451, 500, 501, 502, 503, 504, 520, 599)},
    "status-204": lambda n: answer(b"", "204 No Content"),
    "status-without-reason": lambda n: [answer(jpeg(n))[0].replace(b"200 OK", b"200")],
    "status-103-first": lambda n: [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(jpeg(n))[0]],
    "status-100-first": lambda n: [b"HTTP/1.1 100 Continue\r\n\r\n" + answer(jpeg(n))[0]],
    "status-999": sent("999 X"),
    # Redirects
    **{f"redirect-{code}": redirect(f"{code} X", "/jpeg/{n}") for code in (301, 302, 303, 307, 308)},
    "redirect-to-url": redirect("302 X", "http://127.0.0.1:{port}/jpeg/{n}".replace("{port}", "PORT")),
    "redirect-to-another-host": redirect("302 X", "http://127.0.0.3:PORT/jpeg/{n}"),
    "redirect-to-the-same-scheme": redirect("302 X", "//127.0.0.1:PORT/jpeg/{n}"),
    "redirect-relative": redirect("302 X", "../jpeg/{n}"),
    "redirect-with-fragment": redirect("302 X", "/jpeg/{n}#part"),
    "redirect-with-space": redirect("302 X", "/jpeg/{n}?a b"),
    "redirect-without-target": lambda n: answer(b"", "302 X"),
    "redirect-to-nothing": redirect("302 X", ""),
    "redirect-to-itself": lambda n: answer(b"", "302 X", [f"Location: /redirect-to-itself/{n}"]),
    "redirect-to-ftp": redirect("302 X", "ftp://127.0.0.1:1/x"),
    "redirect-to-file": redirect("302 X", "file:///etc/hostname"),
    "redirect-to-missing": redirect("302 X", "/status-404/{n}"),
    "redirect-with-cookie": lambda n: answer(b"", "302 X", ["Set-Cookie: seen=1; Path=/", f"Location: /by-cookie/{n}"]),
    **{f"redirects-{count}": (lambda count: lambda n: answer(
        b"", "302 X", [f"Location: /{f'redirects-{count - 1}' if count > 1 else 'jpeg'}/{n}"]))(count)
        for count in range(1, 26)},
    "by-cookie": by_field(b"cookie: seen=1"),
    # Framing
    "chunked": lambda n: framed(chunked(jpeg(n)), "Transfer-Encoding: chunked"),
    "chunked-cut": lambda n: framed(chunked(jpeg(n), b""), "Transfer-Encoding: chunked"),
    "chunked-malformed": lambda n: framed(b"zz\r\n" + jpeg(n), "Transfer-Encoding: chunked"),
    "chunked-with-trailer": lambda n: framed(chunked(jpeg(n), b"0\r\nX: y\r\n\r\n"), "Transfer-Encoding: chunked"),
    "chunked-and-length": lambda n: framed(chunked(jpeg(n)), "Content-Length: 3", "Transfer-Encoding: chunked"),
    "length-too-large": lambda n: framed(jpeg(n), f"Content-Length: {len(jpeg(n)) + 50}"),
    "length-too-small": lambda n: framed(jpeg(n), f"Content-Length: {len(jpeg(n)) - 50}", "Connection: close"),
    "length-missing": lambda n: framed(jpeg(n)),
    "length-negative": lambda n: framed(jpeg(n), "Content-Length: -5"),
    "length-text": lambda n: framed(jpeg(n), "Content-Length: many"),
    "length-twice": lambda n: framed(jpeg(n), *[f"Content-Length: {len(jpeg(n))}"] * 2),
    "length-two-values": lambda n: framed(jpeg(n), f"Content-Length: {len(jpeg(n))}", "Content-Length: 10"),
    "http-1.0": lambda n: framed(jpeg(n), version="1.0"),
    "http-0.9": lambda n: [jpeg(n)],
    "gzip": lambda n: answer(gzip.compress(jpeg(n)), fields=["Content-Encoding: gzip"]),
    "deflate": lambda n: answer(zlib.compress(jpeg(n)), fields=["Content-Encoding: deflate"]),
    "coding-identity": lambda n: answer(jpeg(n), fields=["Content-Encoding: identity"]),
    "coding-unknown": lambda n: answer(jpeg(n), fields=["Content-Encoding: zip"]),
    "coding-claimed": lambda n: answer(jpeg(n), fields=["Content-Encoding: gzip"]),
    "fields-many": lambda n: answer(jpeg(n), fields=[f"X-{i}: y" for i in range(150)]),
    "fields-long": lambda n: answer(jpeg(n), fields=["X: " + "y" * 70_000]),
    "fields-folded": lambda n: answer(jpeg(n), fields=["X: y\r\n z"]),
    "fields-latin-1": lambda n: answer(jpeg(n), fields=["X: \xe9"]),
    "fields-without-colon": lambda n: answer(jpeg(n), fields=["nonsense"]),
    "type-missing": lambda n: framed(jpeg(n), f"Content-Length: {len(jpeg(n))}"),
    "type-html": lambda n: answer(jpeg(n), kind="text/html"),
    "type-of-another-image": lambda n: answer(encoded("PNG", n), kind="image/webp"),
    "page-named-as-image": lambda n: answer(b"<html>" + bytes(str(n), "ascii")),
    "not-http": lambda n: [b"SSH-2.0-OpenSSH_9.2\r\n"],
    # Connections
    "closed-at-once": lambda n: [],
    "reset-at-once": lambda n: [None],
    "reset-in-body": lambda n: [framed(jpeg(n)[:300], f"Content-Length: {len(jpeg(n))}")[0], 0.05, None],
    "silent": lambda n: [60],
    "silent-in-body": lambda n: [framed(jpeg(n)[:300], f"Content-Length: {len(jpeg(n))}")[0], 60],
    "late": lambda n: [TIMEOUT / 4, *answer(jpeg(n))],
    "slow-body": lambda n: slowly(jpeg(n)),
    # Clients
    "by-agent": by_agent,
    "by-accept": by_field(b"\r\naccept:"),
    "by-referer": by_field(b"\r\nreferer:"),
    # Opt-outs
    **{f"robots-{value}": opt_out(f"X-Robots-Tag: {value}") for value in (
        "noai", "noimageai", "noindex", "noimageindex", "NOAI", "none", "all", "nofollow")},
    "robots-of-another": opt_out("X-Robots-Tag: otherbot: noai"),
    "robots-of-inflight": opt_out("X-Robots-Tag: inflight: noai"),
    "robots-list": opt_out("X-Robots-Tag: nofollow, noai"),
    "tdm-reservation": opt_out("tdm-reservation: 1"),
    "tdm-no-reservation": opt_out("tdm-reservation: 0"),
}
OPTIONAL = {f"redirects-{count}" for count in range(1, 26)} - {"redirects-1", "redirects-5", "redirects-11",
                                                               "redirects-20", "redirects-25"} | {"by-cookie"}

# URLs of the kind `jpeg` in other spellings.
URLS = {
    "url-spaces-around": " http://127.0.0.1:PORT/jpeg/{n} ",
    "url-space-inside": "http://127.0.0.1:PORT/jpeg/{n}?a b",
    "url-letters": "http://127.0.0.1:PORT/jpeg/{n}?é",
    "url-percent": "http://127.0.0.1:PORT/%6Apeg/{n}",
    "url-scheme-in-capitals": "HTTP://127.0.0.1:PORT/jpeg/{n}",
    "url-fragment": "http://127.0.0.1:PORT/jpeg/{n}#part",
    "url-user": "http://user:secret@127.0.0.1:PORT/jpeg/{n}",
    "url-dots": "http://127.0.0.1:PORT/x/../jpeg/{n}",
    "url-backslash": "http://127.0.0.1:PORT\\jpeg/{n}",
    "url-one-slash": "http:/127.0.0.1:PORT/jpeg/{n}",
    "url-without-scheme": "127.0.0.1:PORT/jpeg/{n}",
    "url-short-address": "http://127.1:PORT/jpeg/{n}",
    "url-numeric-address": "http://2130706433:PORT/jpeg/{n}",
    "url-text": "not a URL {n}",
    "url-empty": "",
    "url-ftp": "ftp://127.0.0.1:1/{n}.jpg",
    "url-data": "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=",
    "url-file": "file:///etc/hostname",
    "url-closed-port": "http://127.0.0.1:1/{n}.jpg",
    "url-large-port": "http://127.0.0.1:99999/{n}.jpg",
    "url-https-of-http": "https://127.0.0.1:PORT/jpeg/{n}",
    "url-unknown-host": "http://no-such-host.invalid/{n}.jpg",
    "url-again": "http://127.0.0.1:PORT/jpeg/7",
}


class Server:
    """Serves on all loopback addresses until the `with` statement ends."""

    def __enter__(self):
        # Made before, so that no response waits.
        self.images = {(kind, number): make(number) for kind, make in IMAGES.items() for number in {*range(REPEATS), 7}}
        listening = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve(listening)))
        self.thread.start()
        listening.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.ended.set_result, None)
        self.thread.join()

    async def serve(self, listening):
        self.loop = asyncio.get_running_loop()
        self.ended = self.loop.create_future()
        listener = await asyncio.start_server(self.connected, "0.0.0.0", 0, backlog=1024)
        self.port = listener.sockets[0].getsockname()[1]
        listening.set()
        await self.ended

    async def connected(self, reader, writer):
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
            kind, _, number = path.replace("%6A", "j").strip("/").partition("/")
            for part in self.parts(kind, int(number) if number.isdigit() else 0, request):
                if part is None:
                    writer.transport.abort()
                elif isinstance(part, bytes):
                    writer.write(part.replace(b":PORT/", b":%d/" % self.port))
                    await writer.drain()
                else:
                    await asyncio.sleep(part)
            # The client reads to the end before it notices.
            writer.write_eof()
            await reader.read()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def parts(self, kind, number, request):
        if (kind, number) in self.images:
            return answer(self.images[kind, number])
        make = RESPONSES.get(kind)
        if make is None:
            return answer(b"", "404 Not Found")
        return make(number, request) if make.__code__.co_argcount == 2 else make(number)


# The two programs


def rows(port):
    kinds = [*IMAGES, *(kind for kind in RESPONSES if kind not in OPTIONAL), *URLS]
    for kind in kinds:
        for number in range(REPEATS):
            url = URLS.get(kind, f"http://127.0.0.1:PORT/{kind}/{{n}}").replace("PORT", str(port))
            yield {"url": url.replace("{n}", str(number)), "caption": f'{kind}, "{number}"', "kind": kind,
                   "number": str(number)}


def run(*arguments):
    names = {name for name in os.environ if name.lower().endswith("_proxy")}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        sys.exit(f"test-img2dataset: {arguments[0]} ended with {result.returncode}:\n{result.stdout}{result.stderr}")


def samples(folder):
    """The image and the caption of each sample, by its key: its size, its channels, and the colours of its quarters."""
    import cv2
    import numpy as np

    found = {}
    for path in folder.glob("*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, suffix = member.name.partition(".")
                content = tar.extractfile(member).read()
                if suffix == "jpg":
                    bytes = np.frombuffer(content, np.uint8)
                    shape = cv2.imdecode(bytes, cv2.IMREAD_UNCHANGED).shape
                    quarters = cv2.resize(cv2.imdecode(bytes, cv2.IMREAD_COLOR), (2, 2), interpolation=cv2.INTER_AREA)
                    found.setdefault(key, {}).update(
                        pixels=shape[:2], channels=shape[2:], colours=quarters.astype(int).flatten().tolist())
                elif suffix == "txt":
                    found.setdefault(key, {})["text"] = content.decode()
    return found


def there(folder, listed):
    import pyarrow.parquet as pq

    program = pathlib.Path(sys.executable).with_name("img2dataset")
    run(program, f"--url_list={listed}", f"--output_folder={folder}", *THERE)
    return [row for path in folder.glob("*.parquet") for row in pq.read_table(path).to_pylist()]


def here(folder, listed):
    import pyarrow as pa

    run(INFLIGHT, "batch", listed, "-o", folder, "--quiet", *HERE)
    run(INFLIGHT, "batch", "verify", folder)
    found = []
    for path in folder.glob("*.jsonl.zst"):
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            found += [json.loads(line) for line in stream.read().splitlines()]
    return found


def compared(rows, folder):
    """The fields that must be equal, by kind and number."""
    found, contents = {}, samples(folder)
    for row in rows:
        fields = {name: row[name] for name in ("status", "width", "height", "original_width", "original_height",
                                               "sha256", "url", "caption")}
        fields["message"] = row["error_message"]
        fields["exif"] = bool(json.loads(row["exif"])) if row["exif"] else None
        fields |= contents.get(row["key"], {})
        found[row["kind"], str(row["number"])] = fields
    return found


def difference(theirs, ours):
    """How a row differs, as in `EXPLAINED`; an empty text if it does not."""
    if theirs["status"] != ours["status"]:
        return f"{theirs['status']}, {ours['status']}"
    names = sorted((theirs.keys() | ours.keys()) - {"message"})
    return ", ".join(name for name in names if not is_equal(name, theirs.get(name), ours.get(name)))


def is_equal(name, theirs, ours):
    if name != "colours" or not theirs or not ours:
        return theirs == ours
    # Both are JPEG, and resized by other filters.
    return all(abs(one - other) <= 8 for one, other in zip(theirs, ours, strict=True))


def main():
    with tempfile.TemporaryDirectory() as name, Server() as server:
        folder = pathlib.Path(name)
        listed = folder / "rows.csv"
        expected = list(rows(server.port))
        with listed.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["url", "caption", "kind", "number"])
            writer.writeheader()
            writer.writerows(expected)
        theirs = compared(there(folder / "there", listed), folder / "there")
        ours = compared(here(folder / "here", listed), folder / "here")
    both, found = theirs.keys() & ours.keys(), {}
    missing = {(row["kind"], row["number"]) for row in expected} - both
    for kind, number in both:
        found.setdefault(kind, set()).add(difference(theirs[kind, number], ours[kind, number]))
    problems = [f"{kind} {number}: not in both datasets" for kind, number in sorted(missing)]
    for kind, differences in sorted(found.items()):
        wanted = EXPLAINED.get(kind, ("",))[0]
        if differences != {wanted}:
            shown = ", ".join(sorted(differences))
            problems.append(f"{kind}: there, here: {shown or 'equal'}; explained: {wanted or 'equal'}")
            if "-v" in sys.argv:
                problems += [f"    {rows[kind, str(number)]}" for number in range(REPEATS) for rows in (theirs, ours)]
    problems += [f"{kind}: explained, but not in the list" for kind in EXPLAINED.keys() - found.keys()]
    for problem in problems:
        print(f"test-img2dataset: {problem}")
    equal = sum(differences == {""} for differences in found.values())
    images = sum(row["status"] == "success" for row in ours.values())
    print(f"test-img2dataset: {len(found)} kinds, {len(ours)} rows, {images} images; {equal} kinds are equal, "
          f"{len(found) - equal} differ as explained" if not problems else "test-img2dataset: failed")
    sys.exit(1 if problems else 0)


def environment(folder):
    """The Python of a virtual environment with the packages."""
    python, listed = folder / "bin" / "python", folder / "packages"
    if not listed.is_file() or listed.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *PACKAGES], check=True)
        listed.write_text(" ".join(PACKAGES))
    return python


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    home = pathlib.Path(arguments[0] if arguments else ".build/img2dataset").absolute()
    if pathlib.Path(sys.prefix) != home:
        os.execv(environment(home), [str(home / "bin" / "python"), *sys.argv])
    main()
