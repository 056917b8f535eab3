"""Tests of Scripts/compare-commands.py."""

import contextlib
import importlib.util
import io
import os
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "compare-commands.py"
spec = importlib.util.spec_from_file_location("compare_commands", SCRIPT)
commands = importlib.util.module_from_spec(spec)
spec.loader.exec_module(commands)
COMMAND = os.environ.get("INFLIGHT")


class Differences(unittest.TestCase):
    def test_the_first_different_line_is_shown_with_its_surroundings(self):
        old = "\n".join(map(str, range(40)))
        found = commands.first_difference(old, old.replace("10", "ten").replace("30", "thirty"))
        self.assertIn("-10\n    +ten", found)
        self.assertNotIn("thirty", found)
        self.assertIsNone(commands.first_difference(old, old))

    def test_the_first_different_file_is_named(self):
        self.assertEqual(commands.first_difference({"a": b"1", "b": b"xyz"}, {"a": b"1", "b": b"xya"}),
                         "b: 3 bytes | 3 bytes, from byte 2: 7a | 61")
        self.assertEqual(commands.first_difference({"a": b"1"}, {}), "a: 1 bytes | absent")
        self.assertIsNone(commands.first_difference({"a": b"1"}, {"a": b"1"}))

    def test_times_are_left_out(self):
        lines = b'{"ms":5,"url":"a","_seconds":1,"list":[{"startedDateTime":"x","time":3}]}\n'
        self.assertEqual(commands.json_lines(lines), commands.json_lines(b'{"url":"a","list":[{}]}'))


@unittest.skipUnless(COMMAND, "set INFLIGHT to the built command")
class Commands(unittest.TestCase):
    def compare(self, new, *parts):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = commands.main([COMMAND, str(new), *parts])
        return status, output.getvalue()

    def changed(self, folder, change):
        """A command whose standard output is changed by a filter."""
        path = pathlib.Path(folder) / "inflight"
        path.write_text(f'#!/bin/bash\nset -o pipefail\n"{COMMAND}" "$@" | {change}\n')
        path.chmod(0o755)
        return path

    def test_a_command_equals_itself(self):
        self.assertEqual(self.compare(COMMAND, "cache", "stream"), (0, "8 outputs, 0 of them differ\n"))

    def test_another_answer_and_another_line_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            new = self.changed(folder, "sed 's/\"width\":64,/\"width\":65,/; s/\"from\":\"disk\"/\"from\":\"memory\"/'")
            status, text = self.compare(new, "cache", "stream")
        self.assertEqual(status, 1)
        self.assertIn('- "from": "disk",\n    + "from": "memory",', text)
        self.assertIn('- "width": 64\n    + "width": 65', text)
        self.assertIn("8 outputs, 3 of them differ", text)

    def test_another_part_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no part nothing"):
            self.compare(COMMAND, "nothing")


if __name__ == "__main__":
    unittest.main()
