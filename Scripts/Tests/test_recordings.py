"""Tests of Scripts/compare-recordings.py."""

import contextlib
import gzip
import importlib.util
import io
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "compare-recordings.py"
spec = importlib.util.spec_from_file_location("compare_recordings", SCRIPT)
recordings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recordings)

OLD = """seed 1, trace a1
task 0: on queue 0: image of 1, normal; receives progress: 8 bytes; ends: 1 from 0, network
loader 0: sets a handler; requests image of 1, high; shows the image of task 1
seed 2, trace b2
task 0: async: bytes of 5; ends: 5 from 0
"""


class Recordings(unittest.TestCase):
    def compare(self, old, new, name="new.txt"):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / "old.txt", pathlib.Path(folder) / name]
            paths[0].write_text(old)
            paths[1].write_bytes(gzip.compress(new.encode()) if name.endswith(".gz") else new.encode())
            with contextlib.redirect_stdout(io.StringIO()) as output:
                status = recordings.main([str(path) for path in paths])
        return status, output.getvalue()

    def test_equal_recordings_are_equal_compressed_or_not(self):
        for name in ["new.txt", "new.txt.gz"]:
            status, text = self.compare(OLD, OLD, name)
            self.assertEqual((status, text), (0, "2 seeds: 2 with the same sequences (2 with the same trace), "
                                                 "0 with another schedule, 0 with another result\n"))

    def test_another_trace_with_the_same_sequences_is_no_difference(self):
        status, text = self.compare(OLD, OLD.replace("b2", "b3"))
        self.assertEqual(status, 0)
        self.assertIn("2 with the same sequences (1 with the same trace)", text)

    def test_what_a_task_is_told_otherwise_fails_and_is_shown_from_there(self):
        status, text = self.compare(OLD, OLD.replace("ends: 5 from 0", "ends: truncated"))
        self.assertEqual(status, 1)
        self.assertIn("Another result: 2\n", text)
        self.assertIn("seed 2\n  task 0, old: ends: 5 from 0\n  task 0, new: ends: truncated\n", text)

    def test_a_lost_ending_and_a_second_one_are_results(self):
        for new in [OLD.replace("; ends: 5 from 0", ""), OLD.replace("ends: 5 from 0", "ends: 5 from 0; ends: 5 from 0")]:
            status, text = self.compare(OLD, new)
            self.assertEqual(status, 1)
            self.assertIn("(nothing more)", text)

    def test_an_act_at_another_place_is_a_schedule(self):
        for new in [OLD.replace("; ends: 1 from 0, network", "; is cancelled"),
                    OLD.replace("async: bytes of 5", "async: bytes of 6"), OLD + "task 1: async: bytes of 5\n"]:
            status, text = self.compare(OLD, new)
            self.assertEqual(status, 0)
            self.assertIn("Another schedule: ", text)

    def test_other_seeds_and_other_files_are_refused(self):
        for new in [OLD.replace("seed 2", "seed 3"), "", OLD + "seed 3, trace c3\n", "GIF89a\n"]:
            with self.assertRaises(SystemExit):
                self.compare(OLD, new)


if __name__ == "__main__":
    unittest.main()
