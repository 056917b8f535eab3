"""The package and the real command, with a server on this machine."""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

import inflight
from support import COMMAND, LOCAL, ROOT, Site, needs_command, pids, recording


@needs_command
class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fetch(self, rows, **options):
        return {result.id: result for result in inflight.fetch(rows, command=COMMAND, **LOCAL | options)}

    def test_images_and_failures(self):
        with Site() as site:
            url = site.urls[0]
            paths = {"image": "/image/12", "again": "/image/12", "missing": "/missing", "page": "/page"}
            rows = [{"id": id, "url": url + path} for id, path in paths.items()]
            found = self.fetch([*rows, {"id": "null", "url": None}, {"id": "bad", "url": "::"}], format="jpeg",
                               size="16x16")
        image = found["image"]
        self.assertEqual((image.status, image.width, image.original_width, image.original_height, image.format),
                         ("success", 16, 32, 30, "jpeg"))
        self.assertEqual((image.image[:2], image.size, image.error), (b"\xff\xd8", len(image.image), None))
        self.assertEqual((found["again"].sha256, found["again"].image), (image.sha256, image.image))
        self.assertEqual({id: found[id].status for id in ("missing", "page", "null")},
                         {"missing": "failed_to_download", "page": "failed_to_resize", "null": "rejected"})
        self.assertNotEqual(found["bad"].status, "success")
        for id in ("missing", "page", "null", "bad"):
            self.assertTrue(found[id].error, id)
        self.assertFalse(found["missing"].is_transient)

    def test_files(self):
        with Site() as site:
            found = self.fetch([{"id": "a", "url": site.urls[0] + "/image/1"}], format="png", files=self.folder)
        self.assertIsNone(found["a"].image)
        self.assertEqual(pathlib.Path(found["a"].file).read_bytes()[:4], b"\x89PNG")

    def test_a_usage_error_has_the_message_of_the_command(self):
        with self.assertRaisesRegex(inflight.CommandFailed, "--no-such-option") as caught:
            list(inflight.fetch([], command=COMMAND, no_such_option=True))
        self.assertEqual(caught.exception.status, 64)

    def test_every_row_has_one_result_although_the_command_is_killed(self):
        with Site(hosts=30) as site:
            rows, seen = site.rows(600), []
            for result in inflight.fetch(rows, command=recording(self.folder), restarts=20, window=100, per_host=8,
                                         format="jpeg", size="8x8", **LOCAL):
                seen.append((result.id, result.status))
                if len(seen) % 150 == 0:
                    os.kill(pids(self.folder)[-1], signal.SIGKILL)
        self.assertEqual(sorted(seen), sorted(
            (row["id"], "failed_to_download" if "missing" in row["url"] else "success") for row in rows))
        self.assertGreaterEqual(len(pids(self.folder)), 4)

    def test_the_command_ends_with_its_parent(self):
        with Site() as site:
            program = ("import inflight, sys\n"
                       "list(inflight.fetch([sys.argv[1]], format='jpeg', command=sys.argv[2], allow_private=True))")
            parent = subprocess.Popen([sys.executable, "-c", program, site.urls[0] + "/held", recording(self.folder)])
            self.assertTrue(site.reached.wait(60))
            descriptor = os.pidfd_open(pids(self.folder)[0])
            self.addCleanup(os.close, descriptor)
            parent.kill()
            parent.wait()
            site.released.set()
            self.assertTrue(select.select([descriptor], [], [], 60)[0], "the command is still running")

    def test_the_examples_of_the_documentation(self):
        with Site() as site:
            for path, number in (("Python/README.md", 0), ("Documentation/Cluster.md", 0)):
                block = re.findall(r"^```python\n(.*?)^```", (ROOT / path).read_text(), re.M | re.S)[number]
                block = re.sub(r"https://example\.org/\w+\.jpg", site.urls[0] + "/image/1", block)
                block = block.replace('format="jpeg"', f'format="jpeg", allow_private=True, command={COMMAND!r}')
                stored, printed = {}, []
                exec(block, {"store": stored.__setitem__, "print": lambda *values: printed.append(values)})
                self.assertIn("success", printed[0])
        self.assertEqual(set(stored), {"cat", "dog"})


if __name__ == "__main__":
    unittest.main()
