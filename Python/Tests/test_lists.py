"""Lists in Parquet: as rows of a command that prints them, and as inputs of the real one."""

import importlib.util
import json
import os
import pathlib
import select
import signal
import subprocess
import unittest
from decimal import Decimal

from support import COMMAND, Site, needs_command, pids, recording
from test_main import Case

needs_pyarrow = unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")

# Ends by a signal only, whatever happens to its input.
DEAF = """#!/usr/bin/env python3
import os, signal
print(os.getpid(), flush=True)
signal.pause()
"""


@needs_pyarrow
class Rows(Case):
    def written(self, *arguments):
        """The arguments and the rows that reach the command."""
        done = self.run_main("batch", *arguments)
        self.assertEqual((done.returncode, done.stderr_text), (7, ""))
        found = json.loads(done.stdout_text)
        return found["arguments"], [json.loads(line) for line in found["input"].splitlines()]

    def test_rows_reach_the_command_as_json_lines(self):
        a = self.write("a.parquet", url=["u1", None, "u3"], score=[1.5, float("nan"), None])
        b = self.write("b.parquet", url=["u4"], score=[2.0])
        arguments, rows = self.written("a.parquet", "b.parquet", "-o", "out", "--size", "8x8")
        self.assertEqual(arguments, ["batch", "-", "-o", "out", "--size", "8x8", "--input-format", "jsonl",
                                     "--rows-of", f"{a}=3", "--rows-of", f"{b}=1"])
        self.assertEqual(rows, [{"url": "u1", "score": 1.5}, {"url": None, "score": None},
                                {"url": "u3", "score": None}, {"url": "u4", "score": 2.0}])
        self.assertEqual(self.run_main("batch", "a.parquet", "killed.parquet").returncode, 66)

    def test_the_status_of_a_killed_command(self):
        self.write("a.parquet", url=["u"])
        self.assertEqual(self.run_main("batch", "a.parquet", "-o", "killed").returncode, 143)

    def test_patterns_and_folders_stand_for_their_files_in_the_order_of_their_names(self):
        for name in ("b.parquet", "a.PARQUET", "é.parquet", "list.parquet/part-2.snappy.parquet",
                     "list.parquet/part-1.parquet", "list.parquet/.hidden.parquet"):
            self.write(name, url=[name])
        for name in ("a.csv", "list.parquet/_SUCCESS"):
            (self.folder / name).write_text("")
        for inputs, expected in (
            (["*.parquet"], ["b", "part-1", "part-2.snappy", "é"]), (["[ab].*t", "a.PARQUET"], ["b", "a"]),
            (["list.parquet", "b.parquet"], ["part-1", "part-2.snappy", "b"]), (["."], ["a", "b", "é"]),
        ):
            _, rows = self.written(*inputs, "-o", "out")
            self.assertEqual([pathlib.Path(row["url"]).stem for row in rows], expected)
        done = self.run_main("batch", "none/*.parquet")
        self.assertEqual((done.returncode, done.stderr_text),
                         (66, "inflight: none/*.parquet: No file matches the pattern.\n"))

    def test_files_of_other_names_are_named_by_their_format(self):
        self.write("1f0c", url=["u"])
        arguments, rows = self.written("1f0c", "--input-format", "parquet")
        self.assertEqual(rows, [{"url": "u"}])
        self.assertEqual(arguments[2:4], ["--input-format", "jsonl"])

    def test_ids_may_be_numbers(self):
        self.write("a.parquet", url=["u"], whole=[1 << 60], broken=[1.5], exact=[Decimal("1.50")])
        for column, value in (("whole", 1 << 60), ("broken", 1.5), ("exact", "1.50")):
            self.assertEqual(self.written("a.parquet", "--id-column", column)[1][0][column], value)

    def test_values_that_json_lacks_become_text(self):
        import datetime

        import pyarrow as pa

        moment = datetime.datetime(2026, 1, 2, 3, 4, 5)
        columns = {
            "nested": [{"list": [1, None], "raw": b"\0\1"}],
            "map": pa.array([[("a", 1.5)]], pa.map_("string", "double")),
            "binary": [b"\xff"], "decimal": [Decimal("1.20")], "time": [moment], "day": [moment.date()],
            "nanoseconds": pa.array([1], pa.timestamp("ns")), "far": pa.array([1 << 30], pa.date32()),
            "dictionary": pa.array(["x"]).dictionary_encode(), "inside": [[[float("inf"), "é😀"[0]][:1]]],
            "text": ["é😀\0\n\u2028"],
        }
        self.write("a.parquet", url=["u"], **columns)
        self.assertEqual(self.written("a.parquet")[1], [{
            "url": "u", "nested": {"list": [1, None], "raw": "AAE="}, "map": [["a", 1.5]], "binary": "/w==",
            "decimal": "1.20", "time": "2026-01-02 03:04:05", "day": "2026-01-02",
            "nanoseconds": "1970-01-01 00:00:00.000000001", "far": "<value out of range: 1073741824>",
            "dictionary": "x", "inside": [[None]], "text": "é😀\0\n\u2028"}])

    def test_the_command_is_killed_with_its_parent(self):
        self.write("a.parquet", url=["u"])
        self.stand_in(DEAF)
        process = self.start("batch", "a.parquet", stdout=subprocess.PIPE)
        command = int(process.stdout.readline())
        process.kill()
        try:
            # The output ends when both have ended.
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.kill(command, signal.SIGKILL)
            process.communicate()
            self.fail("the command runs without its parent")

    def test_bad_files_and_columns_are_errors_that_name_the_file(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = self.write("a.parquet", link=["u1"], number=[1], url=["u"]).read_bytes()
        self.write("none-of-them.parquet", url=pa.array([], pa.string()))
        twice = pa.table([["u"], ["v"]], ["url", "url"])
        pq.write_table(twice, self.folder / "twice.parquet")
        for name, content in (("text", b"no Parquet"), ("zero", b""), ("cut", whole[:-20])):
            (self.folder / f"{name}.parquet").write_bytes(content)
        self.encrypt("footer.parquet", plaintext_footer=False)
        for status, message, *arguments in (
            (65, "a.parquet: The input has no column 'uri' (URL). Columns: link, number, url.", "--url-column", "uri"),
            (65, "a.parquet: The column 'number' (URL) is not text, but int64", "--url-column=number"),
            (65, "a.parquet: The input has no column 'x' (id)", "--id-column", "x"),
            (65, "a.parquet: The input has no column 'x'.", "--md5-column", "x"),
            (65, "a.parquet: The input has no column 'y'.", "--columns", "link,y"),
            (65, "twice.parquet: The input has two columns 'url'", "twice.parquet"),
            (65, "text.parquet: ", "text.parquet"), (65, "zero.parquet: ", "zero.parquet"),
            (65, "cut.parquet: ", "cut.parquet"), (65, "footer.parquet: ", "footer.parquet"),
            (65, "none-of-them.parquet: The file has no rows.", "none-of-them.parquet"),
            (66, "none.parquet: No such file", "none.parquet"),
        ):
            done = self.run_main("batch", "a.parquet", *arguments)
            self.assertEqual((done.returncode, done.stdout_text), (status, ""), arguments)
            self.assertTrue(done.stderr_text.startswith(f"inflight: {message}"), done.stderr_text)
            self.assertEqual(done.stderr_text.count("\n"), 1)

    def encrypt(self, name, plaintext_footer):
        import pyarrow as pa
        import pyarrow.parquet as pq
        import pyarrow.parquet.encryption as pe

        class Keys(pe.KmsClient):
            def __init__(self, configuration):
                super().__init__()

            def wrap_key(self, key, name):
                return key.hex().encode()

            def unwrap_key(self, wrapped, name):
                return bytes.fromhex(wrapped.decode())

        settings = pe.EncryptionConfiguration("f", column_keys={"c": ["url"]}, plaintext_footer=plaintext_footer)
        # The properties refer to the factory.
        self.factory = pe.CryptoFactory(Keys)
        keys = self.factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
        with pq.ParquetWriter(self.folder / name, pa.schema([("url", "string")]), encryption_properties=keys) as file:
            file.write_table(pa.table({"url": ["u"]}))


@needs_command
@needs_pyarrow
class Runs(Case):
    OPTIONS = (
        "-o", "out", "--format", "jpeg", "--size", "8x8", "--allow-private", "--retries", "0", "--shard-size", "8")

    def setUp(self):
        super().setUp()
        self.encrypt = Rows.encrypt.__get__(self)

    def batch(self, *arguments, command=COMMAND):
        done = self.run_main("batch", *arguments, command=command)
        return done.returncode, done.stderr_text

    def lines(self, name):
        return [json.loads(line) for line in (self.folder / "out" / name).read_text().splitlines()]

    def counts(self):
        done = self.run_main("batch", "status", "out", "--json", command=COMMAND)
        found = json.loads(done.stdout_text)
        return found["rows"], found["images"]

    def damage(self, path, text):
        """Damages the page with this text, which is of a row group of its own."""
        content = path.read_bytes()
        self.assertEqual(content.count(text), 1)
        path.write_bytes(content.replace(text, b"\xff" * len(text)))

    def plain(self, name, urls, **columns):
        """Writes a file without compression, dictionaries and statistics, so that each value is in it once."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"url": urls, **columns}), self.folder / name, row_group_size=2, compression="none",
                       use_dictionary=False, write_statistics=False, write_page_checksum=True)
        return self.folder / name

    def test_all_actions(self):
        with Site() as site:
            a = self.write("a.parquet", url=[f"{site.urls[0]}/image/{n}" for n in range(5)] + [None], rank=range(6))
            b = self.write("b.parquet", url=[f"{site.urls[0]}/missing/{n}" for n in range(3)], rank=range(3))
            self.assertEqual(self.batch("[ab].parquet", *self.OPTIONS)[0], 0)
            self.assertEqual(self.counts(), (9, 5))
            a.unlink(), b.unlink()
            before = site.count
            self.assertEqual(self.batch("retry", "out", "--class", "http_404")[0], 0)
            self.assertEqual(site.count, before + 3)
        self.assertEqual(self.counts(), (9, 5))
        self.assertEqual(self.batch("verify", "out"), (0, ""))

    def test_rejected_rows_have_their_file_and_row(self):
        import pyarrow as pa

        # Arrow does not check text that it reads.
        text = pa.array([b"fine", b"\xff", b"fine"]).cast(pa.large_binary()).view(pa.large_string())
        with Site() as site:
            urls = [f"{site.urls[0]}/image/{n}" for n in range(6)]
            a = self.write("a.parquet", url=urls[:3], text=["x", "y" * 2000, "z"])
            b = self.write("b.parquet", url=urls[3:], text=text)
            self.assertEqual(self.batch("a.parquet", "b.parquet", *self.OPTIONS, "--row-limit", "1000")[0], 0)
        self.assertEqual([(line["file"], line["line"], line["reason"]) for line in self.lines("rejects.jsonl")],
                         [(str(a), 2, "The row is longer than the limit of 1000 bytes."),
                          (str(b), 2, "The row is not valid UTF-8.")])
        self.assertEqual(self.counts(), (4, 4))

    def test_a_run_that_was_killed_resumes(self):
        with Site(hosts=4, held_after=60) as site:
            rows = site.rows(200)
            for name, part in (("a.parquet", rows[:120]), ("b.parquet", rows[120:])):
                self.write(name, url=[row["url"] for row in part])
            process = self.start("batch", "a.parquet", "b.parquet", *self.OPTIONS,
                                 command=recording(self.folder), stderr=subprocess.PIPE)
            self.assertTrue(site.reached.wait(60))
            descriptor = os.pidfd_open(pids(self.folder)[0])
            self.addCleanup(os.close, descriptor)
            process.kill()
            process.communicate()
            self.assertTrue(select.select([descriptor], [], [], 60)[0], "the command is still running")
            self.assertEqual(self.batch("a.parquet", "b.parquet", *self.OPTIONS)[0], 0)
        self.assertEqual(self.counts(), (200, 180))
        self.assertEqual(self.batch("verify", "out"), (0, ""))

    def test_files_may_be_added_and_other_changes_name_the_row(self):
        with Site() as site:
            urls = [f"{site.urls[0]}/image/{n}" for n in range(5)]
            self.write("a.parquet", url=urls[:3])
            self.assertEqual(self.batch("a.parquet", *self.OPTIONS)[0], 0)
            self.write("b.parquet", url=urls[3:])
            self.assertEqual(self.batch("a.parquet", "b.parquet", *self.OPTIONS)[0], 0)
            self.assertEqual(site.count, 5)
            c = self.write("c.parquet", url=urls[4:3:-1])
            status, message = self.batch("a.parquet", "c.parquet", "b.parquet", *self.OPTIONS)
        self.assertEqual(status, 65)
        self.assertIn(f"{c}: row 4 (line 1) differs", message)

    def test_damage_ends_the_run_which_resumes_once_it_is_repaired(self):
        with Site() as site:
            urls = [f"{site.urls[0]}/image/{n}" for n in range(8)]
            path = self.plain("a.parquet", urls)
            whole = path.read_bytes()
            self.damage(path, urls[5].encode())
            status, message = self.batch("a.parquet", *self.OPTIONS)
            self.assertEqual(status, 65, message)
            self.assertRegex(message, r"a\.parquet: Row group 3, rows 5 to 6: .*CRC")
            self.assertFalse((self.folder / "out" / "input.zst").exists())
            path.write_bytes(whole)
            self.assertEqual(self.batch("a.parquet", *self.OPTIONS)[0], 0)
            self.assertEqual(site.count, 8)
        self.assertEqual(self.counts(), (8, 8))
        self.assertEqual(self.batch("verify", "out"), (0, ""))

    def test_a_run_without_a_copy_of_its_rows_reads_the_files_again(self):
        with Site() as site:
            path = self.plain("a.parquet", [f"{site.urls[0]}/{kind}/7" for kind in ("image", "missing", "missing/x")])
            self.assertEqual(self.batch("a.parquet", *self.OPTIONS)[0], 0)
            retry = ("retry", "out", "--class", "http_404")
            for expected in (5, 7):
                # A run that was interrupted has no copy before the end of its rows was read.
                (self.folder / "out" / "input.zst").unlink()
                self.assertEqual(self.batch(*retry)[0], 0)
                self.assertEqual(site.count, expected)
            (self.folder / "out" / "input.zst").unlink()
            self.damage(path, f"{site.urls[0]}/missing/x/7".encode())
            status, message = self.batch(*retry)
            self.assertEqual(status, 65, message)
            self.assertRegex(message, r"a\.parquet: Row group 2, rows 3 to 3: ")
            path.unlink()
            self.assertEqual(self.batch(*retry)[0], 66)
        self.assertEqual(self.batch("verify", "out"), (0, ""))

    def test_an_encrypted_column_ends_the_run(self):
        self.encrypt("a.parquet", plaintext_footer=True)
        status, message = self.batch("a.parquet", *self.OPTIONS)
        self.assertEqual(status, 65)
        self.assertIn("a.parquet: ", message)
        self.assertNotIn("Traceback", message)


if __name__ == "__main__":
    unittest.main()
