"""`python -m inflight`: Parquet files become standard input, and everything else reaches the command unchanged."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

STANDIN = """#!/usr/bin/env python3
import json, os, sys
json.dump({"arguments": sys.argv[1:], "input": sys.stdin.read()}, sys.stdout)
os.kill(os.getpid(), 15) if "killed" in sys.argv else sys.exit(7)
"""


# Ends by a signal only, whatever happens to its input.
DEAF = """#!/usr/bin/env python3
import os, signal
print(os.getpid(), flush=True)
signal.pause()
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "inflight").write_text(STANDIN)
        (self.folder / "inflight").chmod(0o700)

    def run_main(self, *arguments, command=None):
        environment = os.environ | {"INFLIGHT": command or str(self.folder / "inflight")}
        return subprocess.run([sys.executable, "-m", "inflight", *arguments], env=environment, cwd=self.folder,
                              input="input", capture_output=True, text=True, timeout=60)


class Main(Case):
    def test_without_parquet_it_is_the_command(self):
        for arguments in (["batch", "urls.txt", "-o", "out"], ["get", "a.parquet"], []):
            done = self.run_main(*arguments)
            self.assertEqual(json.loads(done.stdout), {"arguments": arguments, "input": "input"})
            self.assertEqual(done.returncode, 7)

    def test_a_missing_command_is_an_error(self):
        done = self.run_main("batch", command="/nowhere/inflight")
        self.assertEqual((done.returncode, done.stdout), (69, ""))
        self.assertIn("'/nowhere/inflight' was not found", done.stderr)

    def test_other_inputs_cannot_be_added(self):
        for other in ("-", "--stream", "--input-format"):
            self.assertEqual(self.run_main("batch", "a.parquet", other).returncode, 64)


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
class Parquet(Case):
    def write(self, name, **columns):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), self.folder / name, row_group_size=2)

    def test_rows_reach_the_command_as_json_lines(self):
        self.write("a.parquet", url=["u1", None, "u3"], score=[1.5, float("nan"), None])
        self.write("b.parquet", url=["u4"], score=[2.0])
        done = self.run_main("batch", "a.parquet", "b.parquet", "-o", "out", "--size", "8x8")
        written = json.loads(done.stdout)
        self.assertEqual(written["arguments"],
                         ["batch", "-", "-o", "out", "--size", "8x8", "--input-format", "jsonl",
                          "--rows-of", f"{self.folder}/a.parquet=3", "--rows-of", f"{self.folder}/b.parquet=1"])
        self.assertEqual([json.loads(line) for line in written["input"].splitlines()],
                         [{"url": "u1", "score": 1.5}, {"url": None, "score": None}, {"url": "u3", "score": None},
                          {"url": "u4", "score": 2.0}])
        self.assertEqual(done.returncode, 7)
        self.assertEqual(self.run_main("batch", "a.parquet", "killed").returncode, 143)

    def test_ids_may_be_numbers(self):
        from decimal import Decimal

        self.write("a.parquet", url=["u"], whole=[1 << 60], broken=[1.5], exact=[Decimal("1.50")])
        for column, value in (("whole", 1 << 60), ("broken", 1.5), ("exact", "1.50")):
            written = json.loads(self.run_main("batch", "a.parquet", "--id-column", column).stdout)
            self.assertEqual(json.loads(written["input"])[column], value)

    def test_the_command_is_killed_with_its_parent(self):
        self.write("a.parquet", url=["u"])
        (self.folder / "inflight").write_text(DEAF)
        environment = os.environ | {"INFLIGHT": str(self.folder / "inflight")}
        process = subprocess.Popen([sys.executable, "-m", "inflight", "batch", "a.parquet"], env=environment,
                                   cwd=self.folder, stdout=subprocess.PIPE, text=True)
        command = int(process.stdout.readline())
        process.kill()
        try:
            # The output ends when both have ended.
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.kill(command, signal.SIGKILL)
            process.communicate()
            self.fail("the command runs without its parent")

    def test_bad_files_and_columns_are_errors(self):
        self.write("a.parquet", link=["u1"], number=[1], url=["u"])
        (self.folder / "text.parquet").write_text("no Parquet")
        for status, message, *arguments in (
            (65, "no column 'uri' (URL). Columns: link, number, url.", "a.parquet", "--url-column", "uri"),
            (65, "'number' (URL) is not text, but int64", "a.parquet", "--url-column=number"),
            (65, "no column 'x' (id)", "a.parquet", "--id-column", "x"),
            (65, "text.parquet: ", "text.parquet"),
            (66, "none.parquet: No such file", "a.parquet", "none.parquet"),
        ):
            done = self.run_main("batch", *arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
