"""`inflight get --report` from the command line to the browser: the page agrees with `--json` of the same run."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from chromium import Chromium, Page
from reading import (
    DETAILS, FIGURES, OWN_PICTURE, PICTURES, ROWS, counted, percentiles, reasons, wrongly_shown,
)
from server import Server

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
HOSTILE = [
    "</script><img src=x onerror=alert(1)>.png", "<!--", "\u202egnp.exe", "'\"&lt;b>", "{{7*7}}", "a" * 3000,
]


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium())
        cls.server = cls.enterClassContext(Server())

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, *arguments):
        return [INFLIGHT, "get", "--no-cache", "--retries", "0", *arguments]

    def run_command(self, urls, *arguments):
        (self.folder / "list.txt").write_text("\n".join(urls) + "\n", encoding="utf-8")
        result = subprocess.run(
            self.command("-i", "list.txt", *arguments), cwd=self.folder, capture_output=True, timeout=120)
        return result, [json.loads(line) for line in result.stdout.decode().split("\n") if line]

    def open(self, name="report.html"):
        page = Page(self.browser)
        page.open(self.folder / name)
        self.addCleanup(page.close)
        self.assertEqual(page.complaints(), [])
        self.assertEqual(len(page.requests()), 1)
        return page

    def urls(self):
        return (
            [f"{self.server.url}/picture-{number}.png" for number in range(60)]
            + [f"{self.server.url}/picture-{number % 7}.png" for number in range(20)]
            + [f"{self.server.url}{path}" for path in ("/moved", "/broken", "/page", "/none-1", "/none-2")]
            + ["http://127.0.0.1:9/refused", "no url", "https://user:password@[bad/", "data:text/plain,hello"]
            + [f"{self.server.url}/{text}" for text in HOSTILE]
        )

    def test_every_number_is_that_of_the_lines_of_json(self):
        result, told = self.run_command(self.urls(), "-o", "out", "--json", "--report", "report.html")
        self.assertEqual(result.returncode, 1, result.stderr.decode())
        self.assertEqual(len(told), len(self.urls()))
        page = self.open()
        figures = page.value(FIGURES)
        self.assertEqual(wrongly_shown(figures), [])

        def figure(name):
            return {each["value"] for each in figures if each["name"] == name}

        self.assertEqual(figure("total.loads"), {len(told)})
        for outcome, count in counted(line["outcome"] for line in told).items():
            self.assertEqual(figure(f"total.{outcome}"), {count})
        for source, count in counted(line.get("from") for line in told).items():
            self.assertEqual(figure(f"listed.from.{source}"), {count})
        self.assertEqual(figure("total.bytes"), {sum(line.get("bytes", 0) for line in told)})
        received = sum(line.get("wireBytes", 0) for line in told if line.get("from") == "network")
        self.assertLessEqual(received, max(figure("total.received")))

        rows = page.value(ROWS)
        self.assertEqual([row["id"] for row in rows], list(range(1, len(told) + 1)))
        for row, line in zip(rows, told):
            self.assertEqual(row["outcome"], line["error"]["code"] if "error" in line else line["outcome"])
            self.assertEqual(row["status"], line.get("status", ""))
            self.assertEqual(row["from"], line.get("from", ""))
            self.assertEqual(row["bytes"], line.get("bytes", ""))
            # Both are truncated to their units.
            self.assertEqual(row["time"] // 1000, line["ms"], line["url"])
        # Histograms summarise the same numbers.
        names = page.value('[...document.querySelectorAll(".histogram")].map((figure) => figure.dataset.name)')
        timed = [row["time"] for row, line in zip(rows, told) if line["outcome"] in ("ok", "failed")]
        for name, values in [("total", timed), ("bodies", [line["bytes"] for line in told if "bytes" in line])]:
            for figure_name, value in percentiles(values).items():
                self.assertEqual(figure(f"histogram.{names.index(name)}.{figure_name}"), {value}, f"{name}, {figure_name}")
        groups = page.value("""[...document.querySelectorAll("#failures li[data-code]")].map((group) => [
            group.dataset.code, group.dataset.status, Number(group.querySelector("data").value)])""")
        self.assertEqual(
            {(code, int(status) if status else None): count for code, status, count in groups}, reasons(told))

        page.value('document.querySelector(".rows .row").focus()')
        page.key("Enter")
        for line in told:
            facts = page.value(DETAILS)["facts"]
            self.assertEqual(facts.get("Why"), line["error"]["message"] if "error" in line else None)
            self.assertEqual(facts.get("File"), line.get("file"))
            self.assertEqual(facts.get("Picture"), [line["width"], line["height"]] if "width" in line else None)
            page.key("ArrowDown")
        self.assertNotIn("password", (self.folder / "report.html").read_text(encoding="utf-8"))
        # The page has a thumbnail of every loaded image, and no others.
        shown = page.value('[...document.querySelectorAll("#pictures button[data-load]")].map((e) => Number(e.dataset.load))')
        self.assertEqual(shown, [row["id"] for row, line in zip(rows, told) if "width" in line])
        for picture in page.value(PICTURES):
            self.assertRegex(picture["src"], OWN_PICTURE)

    def small_pictures(self, *arguments):
        """The number of loads with a thumbnail in a run, and the size of the first thumbnail."""
        urls = [f"{self.server.url}/picture-{number}.png" for number in (20, 21, 20)]
        result, told = self.run_command(urls, *arguments, "--json", "--report", "report.html")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        page = self.open()
        return page.value("""(async () => {
            const images = [...document.querySelectorAll("#pictures img")];
            await Promise.all(images.map((image) => image.decode()));
            return [images.length, images[0]?.naturalWidth, images[0]?.naturalHeight];
        })()""")

    def test_small_pictures_are_made_of_whatever_the_run_had(self):
        # The images have 80 × 56 pixels.
        for arguments in [
            ("-o", "kept"), ("-o", "kept", "--skip-existing"), ("-o", "verified", "--verify"), ("--discard",),
            ("-o", "small", "--size", "60x60"),
        ]:
            with self.subTest(arguments):
                self.assertEqual(self.small_pictures(*arguments), [3, 48, 34])
        # `--any` checks no bodies, so there are no thumbnails.
        self.assertEqual(self.small_pictures("-o", "any", "--any")[0], 0)

    def test_of_a_long_run_totals_are_those_of_all_and_it_says_what_is_left_out(self):
        result, told = self.run_command(
            [f"data:text/plain,{number}" for number in range(10_500)], "--any", "--discard", "--quiet", "--json",
            "--report", "report.html")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        figures = {each["name"]: each["value"] for each in self.open().value(FIGURES)}
        self.assertEqual(figures["total.loads"], len(told))
        self.assertEqual(figures["total.ok"], len(told))
        self.assertEqual(figures["total.jobs.fetch"], len(told))
        self.assertEqual(figures["total.bytes"], sum(line["bytes"] for line in told))
        self.assertEqual((figures["listed"], figures["left-out"]), (3000, 7500))

    def test_it_stands_beside_every_other_option(self):
        result, told = self.run_command(
            [f"{self.server.url}/picture-3.png"] * 2, "--discard", "--json", "--unordered", "--quiet",
            "--header", "X-Key: secret", "--report=report.html")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        page = self.open()
        command = page.value('document.getElementById("command").textContent')
        self.assertIn("--header 'X-Key: …'", command)
        self.assertNotIn("secret", (self.folder / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(len(page.value(ROWS)), len(told))

    def test_where_it_cannot_be_written_nothing_is_asked_for(self):
        for path, why in [("none/report.html", "No such file or directory"), (".", "Is a directory")]:
            result, told = self.run_command(
                [f"{self.server.url}/picture-3.png"], "-o", "out", "--json", "--report", path)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(told, [])
            self.assertIn(f'Cannot write the report "{path}": {why}', result.stderr.decode())
            self.assertFalse((self.folder / "out").exists())
        result, _ = self.run_command(["data:,x"], "-o", "out", "--report", "")
        self.assertEqual(result.returncode, 64)

    def test_after_an_early_end_it_says_what_is_known_by_then(self):
        self.server.asked.clear()
        urls = [f"{self.server.url}/picture-1.png", f"{self.server.url}/held", f"{self.server.url}/held"]
        process = subprocess.Popen(
            self.command(*urls, "-o", "out", "--json", "--unordered", "--report", "report.html"), cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b'"ok"', process.stdout.readline())
        self.assertTrue(self.server.asked.wait(60))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        page = self.open()
        self.assertEqual([row["outcome"] for row in page.value(ROWS)], ["ok", "cancelled", "cancelled"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out", "report.html"])


if __name__ == "__main__":
    unittest.main()
