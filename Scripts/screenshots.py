#!/usr/bin/env python3
"""Captures screenshots of all user interfaces: `make screenshots`.

    Scripts/screenshots.py BIN GALLERY OUT

BIN is the folder of the release's programs, GALLERY is inflight-gallery. Runs the gallery and `inflight show` on a
virtual display, and opens the page of `--report` in headless Chromium. Writes each state as a PNG file into OUT, and
regenerates the sheets in Documentation.
"""

import base64
import http.client
import pathlib
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "Scripts" / "Screens"), str(ROOT / "Tests" / "Report")]

from display import Display, cropped, png  # noqa: E402
from holding import Holding  # noqa: E402


class Studio:
    def __init__(self, binaries, gallery, out):
        self.inflight = binaries / "inflight"
        self.demo = binaries / "inflight-demo"
        self.gallery = gallery
        self.out = out
        out.mkdir(parents=True, exist_ok=True)

    def command(self, *arguments, **options):
        return subprocess.run([self.inflight, *map(str, arguments)], check=True, **options)

    def painted(self):
        """The demo's images by name, as progressive JPEGs."""
        paths = self.out / "painted"
        server = subprocess.Popen(
            [self.demo, "serve", "--list", self.out / "list.txt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            server.stdout.readline()
            urls = [
                url for url in (self.out / "list.txt").read_text().split("\n")
                if url.startswith("http") and url.endswith(".jpg")
                and "missing" not in url and "damaged" not in url and "old-" not in url
            ]
            (self.out / "jpegs.txt").write_text("\n".join(dict.fromkeys(urls)) + "\n")
            self.command(
                "get", "-i", self.out / "jpegs.txt", "-o", paths, "--format", "jpeg", "--progressive", "--no-cache", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            server.stdin.close()
            server.wait(30)
        return {path.name: path.read_bytes() for path in sorted(paths.glob("*.jpg"))}

    def keep(self, name, shown):
        path = self.out / f"{name}.png"
        path.write_bytes(png(cropped(shown)) if isinstance(shown, tuple) else shown)
        print(f"{path}")
        return path

    def jpeg(self, path, width):
        """A screenshot scaled to a width, as a JPEG encoded by Inflight."""
        small = path.with_suffix(".jpg")
        with open(small, "wb") as file:
            self.command(
                "get", path.as_uri(), "--no-cache", "--size", f"{width}x", "--format", "jpeg", "--quality", "78", stdout=file,
                stderr=subprocess.DEVNULL)
        return small.read_bytes()

    def sheet(self, name, shots, columns, width):
        """Writes screenshots with their captions into one self-contained SVG file."""
        parts, x, y, high = [], 0, 0, 0
        for number, (path, caption) in enumerate(shots):
            if number % columns == 0 and number:
                x, y, high = 0, y + high, 0
            data = self.jpeg(path, width)
            _, shown_height = size_of_jpeg(data)
            parts.append(
                f'<image x="{x + 12}" y="{y + 12}" width="{width}" height="{shown_height}" '
                f'href="data:image/jpeg;base64,{base64.b64encode(data).decode()}"/>\n'
                f'<text x="{x + 12 + width / 2}" y="{y + shown_height + 32}">{caption}</text>\n')
            x, high = x + width + 12, max(high, shown_height + 36)
        size = (columns * (width + 12) + 12, y + high + 12)
        (ROOT / "Documentation" / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
            f'height="{size[1]}">\n<rect width="100%" height="100%" fill="#f4f4f2"/>\n'
            '<g font-family="DejaVu Sans, Helvetica, sans-serif" font-size="13" text-anchor="middle" fill="#222">\n'
            + "".join(parts) + "</g>\n</svg>\n")


def size_of_jpeg(data):
    """Width and height from the frame header (ITU-T T.81, B.2.2)."""
    place = 2
    while True:
        marker, length = data[place + 1], int.from_bytes(data[place + 2:place + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[place + 7:place + 9], "big"), int.from_bytes(data[place + 5:place + 7], "big")
        place += 2 + length


def gallery_shots(studio, files):
    names = list(files)
    shots = []

    def shot(caption, name, shown):
        shots.append((studio.keep(f"gallery-{name}", shown), caption))

    data = {"XDG_DATA_DIRS": f"{ROOT}/GTK/Data:/usr/local/share:/usr/share"}
    with Display(960, 720) as display, Holding(files) as server:
        rows = [server.url(f"{name}?{turn}") for turn in range(260) for name in names]
        everything = studio.out / "rows.txt"
        everything.write_text("\n".join(rows) + "\n")
        some = studio.out / "some.txt"
        some.write_text("\n".join(
            server.url("gone.jpg" if number % 7 == 3 else name) for number, name in enumerate(names)) + "\n")

        def start(*arguments):
            return display.start([studio.gallery, *map(str, arguments)], **data)

        gallery = start(everything, "--size", "192")
        shot("Ten thousand rows; only visible ones are loaded", "grid", display.settled())
        display.keys("ctrl+d")
        shot("The state of the engine (Ctrl-D)", "overlay", display.settled(lambda shown: shown[2][400:]))
        display.keys("ctrl+d", "ctrl+l")
        shot("Dark appearance (Ctrl-L)", "dark", display.settled())
        display.keys("ctrl+l", "ctrl+f")
        display.type("lake")
        shot("Search", "search", display.settled())
        display.stop(gallery)

        server.held = lambda path: sum(path.encode()) % 3 == 0
        gallery = start(everything, "--size", "192")
        # The rings of loads in flight rotate, so only the area beside them settles.
        shot("Loading: a ring appears after 400 ms", "loading", display.settled(
            lambda shown: [row[:60] for row in shown[2]]))
        display.stop(gallery)
        server.held = lambda path: False

        gallery = start(some, "--size", "192")
        shot("Failures with their reason in the cell; a click retries", "failures", display.settled())
        display.stop(gallery)

        gallery = start(everything, "--size", "192")
        display.settled()
        display.keys("Home", "Return")
        shot("One image enlarged", "large", display.settled())
        server.halved = lambda path: True
        display.keys("Right")
        shot("A preview from the first two fifths of the bytes", "preview", display.settled(
            lambda shown: [row[:300] for row in shown[2][:500]]))
        display.stop(gallery)
    return shots


def terminal_shots(studio, files):
    folder = studio.out / "painted"
    names = list(files)
    shots = []
    with Display(1000, 620) as display:
        for caption, name, arguments, colors in [
            ("One image in 24-bit colour", "terminal", [names[5]], "truecolor"),
            ("Several images", "terminal-grid", names[:6], "truecolor"),
            ("256 colours", "terminal-256", names[:6], ""),
        ]:
            line = " ".join(f"'{folder / each}'" for each in arguments)
            program = display.start(
                ["xterm", "-b", "0", "-geometry", "124x34+0+0", "-fa", "DejaVu Sans Mono", "-fs", "8", "-bg", "#101010",
                 "-fg", "#e0e0e0", "-e", "sh", "-c", f"COLORTERM={colors} '{studio.inflight}' show {line}; exec cat"])
            shots.append((studio.keep(name, display.settled()), caption))
            display.stop(program)
    return shots


def report_shots(studio, files):
    from chromium import Chromium, Page

    page_file = studio.out / "report.html"
    with Holding(files) as server:
        wanted = studio.out / "wanted.txt"
        wanted.write_text("\n".join(
            [server.url(name) for name in files] * 2 + [server.url(f"gone-{turn}.jpg") for turn in range(2)]) + "\n")
        subprocess.run(
            [studio.inflight, "get", "-i", wanted.name, "--discard", "--size", "320x240", "--no-cache", "--report",
             page_file.name], cwd=studio.out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shots = []
    with Chromium() as browser:
        page = Page(browser, 1200, 900)
        for caption, name, scheme in [
            ("The page of --report", "report", "light"), ("Dark appearance", "report-dark", "dark"),
        ]:
            page.media(prefers_color_scheme=scheme)
            page.open(page_file)
            data = page.call("Page.captureScreenshot", format="png")["data"]
            shots.append((studio.keep(name, base64.b64decode(data)), caption))
    return shots


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    binaries, gallery, out = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    studio = Studio(binaries, gallery, out)
    files = studio.painted()
    studio.sheet("gallery.svg", gallery_shots(studio, files), 2, 460)
    studio.sheet("terminal.svg", terminal_shots(studio, files), 3, 320)
    studio.sheet("report.svg", report_shots(studio, files), 2, 460)


main()
