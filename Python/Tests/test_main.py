"""`python -m inflight`: everything but lists in Parquet reaches the command unchanged."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from inflight.batch import FLAGS, Arguments
from support import COMMAND, needs_command

STANDIN = """#!/usr/bin/env python3
import json, os, sys
json.dump({"arguments": sys.argv[1:], "input": sys.stdin.read()}, sys.stdout)
os.kill(os.getpid(), 15) if "killed" in sys.argv else sys.exit(7)
"""


class Case(unittest.TestCase):
    """`python -m inflight` in a folder of its own, with a command that prints what it is given."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.stand_in(STANDIN)

    def stand_in(self, program):
        (self.folder / "inflight").write_text(program)
        (self.folder / "inflight").chmod(0o700)

    def start(self, *arguments, command=None, **options):
        environment = os.environ | {"INFLIGHT": command or str(self.folder / "inflight")}
        return subprocess.Popen([sys.executable, "-m", "inflight", *map(str, arguments)], env=environment,
                                cwd=self.folder, text=True, **options)

    def run_main(self, *arguments, command=None):
        """Returns the status, and what was printed."""
        process = self.start(*arguments, command=command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        try:
            process.stdout_text, process.stderr_text = process.communicate("input", timeout=60)
        finally:
            process.kill()
        return process

    def write(self, name, **columns):
        """Writes a Parquet file in row groups of two rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=2)
        return path


class Main(Case):
    def test_without_parquet_it_is_the_command(self):
        (self.folder / "lists").mkdir()
        (self.folder / "lists" / "a.csv").write_text("url\n")
        for arguments in (["batch", "urls.txt", "-o", "out"], ["get", "a.parquet"], [],
                          ["batch", "lists", "*.csv", "-"],
                          ["batch", "urls.txt", "-o", "out.parquet", "--report=a.parquet"], ["batch", "status", "out"],
                          ["batch", "retry", "none.parquet"], ["batch", "a.parquet", "--input-format", "csv"],
                          ["batch", "a.parquet", "--help"]):
            done = self.run_main(*arguments)
            self.assertEqual(json.loads(done.stdout_text), {"arguments": arguments, "input": "input"})
            self.assertEqual(done.returncode, 7)

    def test_a_missing_command_is_an_error(self):
        done = self.run_main("batch", command="/nowhere/inflight")
        self.assertEqual((done.returncode, done.stdout_text), (69, ""))
        self.assertIn("'/nowhere/inflight' was not found", done.stderr_text)

    def test_other_inputs_cannot_be_added(self):
        for other, message in (("-", "other inputs cannot be combined in one run: '-'"), ("b.csv", "one run: 'b.csv'"),
                               ("--stream", "combined with --stream"), ("--rows-of=a=1", "combined with --rows-of")):
            done = self.run_main("batch", "a.parquet", other)
            self.assertEqual(done.returncode, 64)
            self.assertIn(message, done.stderr_text)
        self.assertEqual(self.run_main("batch", "--input-format", "parquet", "-o", "x").returncode, 64)

    @needs_command
    def test_the_options_without_a_value_are_those_of_the_command(self):
        help = subprocess.run([COMMAND, "batch", "--help"], capture_output=True, text=True, check=True).stdout
        flags = re.findall(r"^  (-[\w-]+)(?:, (-[\w-]+))?(?:  |$)", help, re.M)
        self.assertEqual({name for names in flags for name in names if name}, FLAGS - {"-h"})

    def test_arguments_are_read_as_the_command_reads_them(self):
        found = Arguments.parsed(["a", "-oDIR", "--size=8x8", "--raw", "b", "--columns", "--x", "--", "-c", "retry"])
        self.assertEqual(found.inputs, ["a", "b", "-c", "retry"])
        self.assertEqual(found.options, [("-o", "DIR"), ("--size", "8x8"), ("--raw", None), ("--columns", "--x")])
        self.assertEqual(Arguments.parsed(["--json", "retry", "a"]), Arguments("retry", ["a"], [("--json", None)]))
        self.assertEqual(Arguments.parsed(["run", "retry"]), Arguments(None, ["run", "retry"]))


if __name__ == "__main__":
    unittest.main()
