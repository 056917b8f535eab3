"""`inflight get --har` writes archives that Debian's `node-har-validator` accepts."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from server import Server

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
# Prints nothing, or the violations of the schema of HAR 1.2.
VALIDATOR = """
const { har } = require("har-validator");
har(JSON.parse(require("fs").readFileSync(0, "utf8"))).catch((error) => console.log(JSON.stringify(error.errors)));
"""
PATHS = ["/picture-7.png?w=3&token=hidden", "/moved", "/broken", "/page", "/none?" + "é%C3%A9[]|\u202e\"<>", "/picture-8.png"]


def violations(archive):
    # Debian's folder, also for a Node.js of another origin.
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    result = subprocess.run(
        ["node", "-e", VALIDATOR], input=archive, env=environment, capture_output=True, check=True, timeout=60)
    return result.stdout.decode()


def archive(folder, server):
    """An archive with redirects, errors, retries and refused connections, and the number of its entries."""
    urls = [server.url + path for path in PATHS] + ["http://127.0.0.1:9/refused", "no url", "data:,x"]
    (folder / "list.txt").write_text("\n".join(urls) + "\n", encoding="utf-8")
    subprocess.run(
        [INFLIGHT, "get", "--no-cache", "--retries", "1", "-i", "list.txt", "--discard", "--har", "run.har"],
        cwd=folder, capture_output=True, timeout=120)
    # The redirect and the two retries are entries of their own; the last two lines send no request.
    return (folder / "run.har").read_bytes(), len(PATHS) + 1 + 3


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = cls.enterClassContext(Server())
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.archive, cls.count = archive(pathlib.Path(folder), server)

    def test_it_is_valid(self):
        self.assertEqual(violations(self.archive), "")
        self.assertEqual(len(json.loads(self.archive)["log"]["entries"]), self.count)
        self.assertNotIn(b"hidden", self.archive)

    def test_the_validator_refuses_a_damaged_archive(self):
        for names, value in [
            (("request", "url"), "no url"), (("startedDateTime",), "today"), (("response", "status"), "200"),
            (("timings", "wait"), None), (("response", "content"), {"size": 1}),
        ]:
            damaged = json.loads(self.archive)
            place = damaged["log"]["entries"][0]
            for name in names[:-1]:
                place = place[name]
            place[names[-1]] = value
            self.assertIn(names[-1], violations(json.dumps(damaged).encode()), names)


if __name__ == "__main__":
    unittest.main()
