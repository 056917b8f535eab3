"""Runs of `inflight batch` whose shards are uploaded, and kills of them: for tests on every store."""

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

import s3fs
from stores import DROP, LOSE, S3
from support import COMMAND, Site, pids, recording

# `make test-object-stores` sets more.
KILLS = int(os.environ.get("KILLS", "25"))
OPTIONS = ["--format", "jpeg", "--size", "16x16", "--allow-private", "--retries", "0", "--shard-size", "10",
           "--concurrency", "4"]


class Case(unittest.TestCase):
    store_class = S3

    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(cls.store_class())
        cls.site = cls.enterClassContext(Site(hosts=5))
        cls.store.make_bucket()
        cls.fs = s3fs.S3FileSystem(use_listings_cache=False, **cls.store.options)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store.fault = self.store.before = lambda _: None
        self.store.requests.clear()
        self.root = f"bucket/{self.id().rpartition('.')[2]}"
        self.out = f"s3://{self.root}"
        self.scratch = self.folder / f"{self.root.partition('/')[2]}.inflight"
        self.environment = os.environ | {
            "INFLIGHT": COMMAND, "AWS_ACCESS_KEY_ID": "an-access-key", "AWS_SECRET_ACCESS_KEY": "a-secret-key",
            "AWS_ENDPOINT_URL": self.store.url, "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1",
            "AWS_EC2_METADATA_DISABLED": "true", "HOME": folder.name}

    def list(self, count=50, rows=None):
        path = self.folder / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows or self.site.rows(count)))
        return path

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "inflight", "batch", *map(str, arguments)], env=self.environment, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)

    def batch(self, *arguments, status=0, says=""):
        """Returns what was printed."""
        process = self.start(*arguments)
        text = process.communicate()[0]
        self.assertEqual(process.returncode, status, text)
        self.assertTrue(re.search(says, text), text)
        self.assertNotIn("Traceback", text)
        self.assertNotIn("a-secret-key", text)
        return text

    def objects(self):
        """The content of each object, by name."""
        return {path.removeprefix(f"{self.root}/"): self.fs.cat_file(path) for path in self.fs.find(self.root)}

    def unfinished(self):
        """The keys of unfinished uploads whose names begin as the output's."""
        keys = [upload["Key"] for upload in self.fs.list_multipart_uploads("bucket")]
        return sorted(key for key in keys if key.startswith(self.root.partition("/")[2]))

    def local(self, *arguments):
        """The shards of a run on this machine alone."""
        subprocess.run([COMMAND, "batch", *arguments, "-o", "one", "--quiet"], cwd=self.folder, check=True)
        return shards({path.name: path.read_bytes() for path in (self.folder / "one").iterdir() if path.is_file()})


def shards(files):
    """The files of shards, without the times in statistics, which differ between runs."""
    times = rb'"(duration|start_time|end_time)":[0-9.]+'
    return {name: re.sub(times, b"", content) for name, content in files.items() if name[0].isdigit()}


class Kills(Case):
    def test_kills_lose_double_and_tear_no_shard(self):
        rows, kills, number = self.list(60), 0, 0
        expected = self.local(rows, *OPTIONS)
        self.environment["INFLIGHT"] = recording(self.folder)
        while True:
            # The next request on which a run is killed: before it, or before its answer.
            left, answer = [1 + number % 23], [DROP, LOSE][number % 2]
            started = []

            def fault(_, left=left, answer=answer, started=started):
                left[0] -= 1
                if left[0] or kills >= KILLS:
                    return None
                started[0].kill()
                return answer

            self.store.fault = lambda _: None
            self.check_is_whole(expected)
            self.store.fault = fault
            with contextlib.ExitStack() as stack:
                started.append(stack.enter_context(self.start(rows, "-o", self.out, *OPTIONS)))
                text = started[0].communicate()[0]
                status = started[0].returncode
            self.wait_for_commands()
            number += 1
            if status == 0:
                break
            self.assertEqual(status, -signal.SIGKILL, text)
            kills += 1
        self.assertGreaterEqual(kills, min(KILLS, 15))
        self.store.fault = lambda _: None
        self.assertEqual(shards(self.objects()), expected)
        self.batch("verify", self.out, says="18 files compared")
        self.assertEqual(self.unfinished(), [])
        print(f"{kills} kills", file=sys.stderr)

    def check_is_whole(self, expected):
        for name, content in shards(self.objects()).items():
            self.assertEqual(content, expected[name], name)

    def wait_for_commands(self):
        for pid in pids(self.folder):
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                ended = select.select([descriptor], [], [], 60)[0]
                os.close(descriptor)
                self.assertTrue(ended, "the command is still running")
