"""A virtual display with readable pixels, and keyboard input for the programs on it."""

import os
import pathlib
import struct
import subprocess
import tempfile
import time
import zlib

# A timeout in seconds for hung programs, generous for slow ones.
PATIENCE = 60
# Seconds without a change after which a display is settled. Animations redraw in every frame.
STILL = 0.7


class Display:
    """An Xvfb server that ends with its `with` statement. Its framebuffer is a memory-mapped file."""

    def __init__(self, width, height):
        self.folder = tempfile.TemporaryDirectory(prefix="inflight-screens-")
        ours, theirs = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(theirs), "-screen", "0", f"{width}x{height}x24", "-fbdir", self.folder.name,
             "-nolisten", "tcp"],
            pass_fds=(theirs,), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        with os.fdopen(ours) as number:
            self.name = ":" + number.readline().strip()
        if self.name == ":":
            raise OSError("Xvfb did not start")
        self.programs = []
        # Moves the pointer out of sight.
        self.xdotool("mousemove", str(width), str(height))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            end(program)
        end(self.server)
        self.folder.cleanup()

    def start(self, command, **environment):
        """Starts a program on the display. It ends with the display."""
        drawn = {"DISPLAY": self.name, "GSK_RENDERER": "cairo", "NO_AT_BRIDGE": "1", "LC_ALL": "C.UTF-8"}
        program = subprocess.Popen(
            command, env={**os.environ, **drawn, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.programs.append(program)
        return program

    def stop(self, program):
        self.programs.remove(program)
        end(program)

    def keys(self, *keys):
        """Presses keys, given by their X names."""
        self.xdotool("key", "--clearmodifiers", *keys)

    def type(self, text):
        self.xdotool("type", text)

    def xdotool(self, *arguments):
        subprocess.run(["xdotool", *arguments], env={**os.environ, "DISPLAY": self.name}, check=True)

    def pixels(self):
        """The width, the height and the current pixels as rows of RGB."""
        data = (pathlib.Path(self.folder.name) / "Xvfb_screen0").read_bytes()
        # XWDFileHeader of X11/XWDFile.h: 25 numbers, then the window's name, then the colours.
        header = struct.unpack(">25I", data[:100])
        header_size, width, height, stride, colors = header[0], header[4], header[5], header[12], header[19]
        rows, start = [], header_size + colors * 12
        for row in range(height):
            line = data[start + row * stride:start + row * stride + width * 4]
            rgb = bytearray(width * 3)
            rgb[0::3], rgb[1::3], rgb[2::3] = line[2::4], line[1::4], line[0::4]
            rows.append(bytes(rgb))
        return width, height, rows

    def wait(self, holds, what):
        """Waits until `holds` returns true for the pixels, and returns them."""
        limit = time.monotonic() + PATIENCE
        while True:
            shown = self.pixels()
            if holds(shown):
                return shown
            if time.monotonic() > limit:
                raise TimeoutError(f"never seen: {what}")
            time.sleep(0.02)

    def settled(self, but=lambda shown: shown[2]):
        """Waits until something is drawn and stays unchanged. `but` selects the pixels that do not animate."""
        last, since = None, time.monotonic()

        def holds(shown):
            nonlocal last, since
            seen = but(shown)
            if seen != last:
                last, since = seen, time.monotonic()
            return time.monotonic() - since > STILL and len(set(shown[2])) > 4

        return self.wait(holds, "a settled display")


def end(program):
    program.terminate()
    try:
        program.wait(10)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def png(shown):
    """Encodes pixels as a PNG file (ISO/IEC 15948), in 8-bit RGB."""
    width, height, rows = shown

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def cropped(shown):
    """The pixels without the black margins around a window smaller than the display."""
    width, height, rows = shown
    filled = [number for number, row in enumerate(rows) if any(row)]
    if not filled:
        return shown
    rows = rows[filled[0]:filled[-1] + 1]
    left = min(len(row) - len(row.lstrip(b"\0")) for row in rows if any(row)) // 3
    right = max(len(row.rstrip(b"\0")) for row in rows) // 3 + 1
    right = min(width, right)
    return right - left, len(rows), [row[left * 3:right * 3] for row in rows]
