"""A display without a screen whose pixels can be read, and programs on it that are told keys."""

import os
import pathlib
import struct
import subprocess
import tempfile
import time
import zlib

# For what hangs, not for what is slow.
PATIENCE = 60
# A picture that stands so long has come to rest; what turns or fades is drawn anew in each frame.
STILL = 0.7


class Display:
    """One Xvfb, ended with the `with` statement that it is made by. It leaves its framebuffer in a file."""

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
        # Out of the picture.
        self.xdotool("mousemove", str(width), str(height))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            end(program)
        end(self.server)
        self.folder.cleanup()

    def start(self, command, **environment):
        """Starts a program on the display, which ends with it."""
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
        """Presses keys, by their names of X."""
        self.xdotool("key", "--clearmodifiers", *keys)

    def type(self, text):
        self.xdotool("type", text)

    def xdotool(self, *arguments):
        subprocess.run(["xdotool", *arguments], env={**os.environ, "DISPLAY": self.name}, check=True)

    def pixels(self):
        """Width, height, and what is seen now, as rows of RGB."""
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
        """Waits until something holds of the rows of pixels."""
        limit = time.monotonic() + PATIENCE
        while True:
            shown = self.pixels()
            if holds(shown):
                return shown
            if time.monotonic() > limit:
                raise TimeoutError(f"never seen: {what}")
            time.sleep(0.02)

    def settled(self, but=lambda shown: shown[2]):
        """Waits until something is drawn and stands still; `but` takes away what moves."""
        last, since = None, time.monotonic()

        def holds(shown):
            nonlocal last, since
            seen = but(shown)
            if seen != last:
                last, since = seen, time.monotonic()
            return time.monotonic() - since > STILL and len(set(shown[2])) > 4

        return self.wait(holds, "something that stands still")


def end(program):
    program.terminate()
    try:
        program.wait(10)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def png(shown):
    """A picture as a PNG file (ISO/IEC 15948), eight bits of RGB."""
    width, height, rows = shown

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def cropped(shown):
    """Without the black around a window that is smaller than the display."""
    width, height, rows = shown
    filled = [number for number, row in enumerate(rows) if any(row)]
    if not filled:
        return shown
    rows = rows[filled[0]:filled[-1] + 1]
    left = min(len(row) - len(row.lstrip(b"\0")) for row in rows if any(row)) // 3
    right = max(len(row.rstrip(b"\0")) for row in rows) // 3 + 1
    right = min(width, right)
    return right - left, len(rows), [row[left * 3:right * 3] for row in rows]
