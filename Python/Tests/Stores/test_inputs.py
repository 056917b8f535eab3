"""Lists in object stores are streamed as rows of `inflight.fetch`."""

import gzip
import os
import pathlib
import tempfile
import unittest

import inflight
import pyarrow as pa
import pyarrow.parquet as pq
import s3fs
from stores import DROP, S3, error
from support import COMMAND, LOCAL, Site

s3fs.S3FileSystem.retries = 2
ROWS = [{"url": "http://a/1", "text": 'say "hi",\nplease'}, {"url": "http://a/2", "text": "ü"}]


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(S3())
        cls.store.make_bucket()
        cls.fs = s3fs.S3FileSystem(use_listings_cache=False, **cls.store.options)

    def setUp(self):
        self.store.requests.clear()
        self.store.fault = lambda _: None
        self.root = f"bucket/{self.id().rpartition('.')[2]}"

    def put(self, name, content):
        self.fs.pipe_file(f"{self.root}/{name}", content if isinstance(content, bytes) else content.encode())

    def parquet(self, rows, **options):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink, **options)
        return sink.getvalue().to_pybytes()

    def read(self, *names):
        urls = [f"s3://{self.root}/{name}" for name in names]
        return inflight.read_rows(urls, storage_options=self.store.options | {"use_listings_cache": False})

    def test_each_format_has_its_rows(self):
        table = 'url,text\r\nhttp://a/1,"say ""hi"",\nplease"\r\n\r\nhttp://a/2,ü\r\n'
        lines = '{"url": "http://a/1", "text": "say \\"hi\\",\\nplease"}\n\n{"url": "http://a/2", "text": "ü"}'
        for name, content in (
            ("a.csv", table), ("a.CSV", "\ufeff" + table), ("a.csv.gz", gzip.compress(table.encode())),
            ("a.jsonl", lines), ("a.ndjson.zst", bytes(pa.compress(lines.encode(), "zstd", asbytes=True))),
            ("a.parquet", self.parquet(ROWS)),
        ):
            self.put(name, content)
            self.assertEqual(list(self.read(name)), ROWS, name)
        self.put("a.tsv", 'url\ttext\nu1\t"no quotes\nu2\t\n')
        self.assertEqual(list(self.read("a.tsv")), [{"url": "u1", "text": '"no quotes'}, {"url": "u2", "text": ""}])

    def test_files_and_patterns_are_read_in_their_order(self):
        for name in ("b-2", "b-1", "a"):
            self.put(f"{name}.jsonl", f'{{"url": "{name}"}}\n')
        self.assertEqual([row["url"] for row in self.read("b-*.jsonl", "a.jsonl")], ["b-1", "b-2", "a"])

    def test_local_files_are_read_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.csv"
            path.write_text("url\nu1\n")
            for url in (str(path), f"file://{path}", f"{folder}/*.csv"):
                self.assertEqual(list(inflight.read_rows(url)), [{"url": "u1"}])

    def test_a_large_file_is_streamed(self):
        rows = [{"url": f"http://a/{n}", "text": os.urandom(512).hex()} for n in range(30_000)]
        self.put("a.parquet", self.parquet(rows, row_group_size=2000, compression="none"))
        self.store.requests.clear()
        found = self.read("a.parquet")
        self.assertEqual(next(found), rows[0])
        first = [request for request in self.store.requests if request.operation == "Get"]
        self.assertEqual(sum(1 for _ in found), len(rows) - 1)
        every = [request for request in self.store.requests if request.operation == "Get"]
        self.assertLess(len(first), len(every))

    def test_rows_are_fetched(self):
        with Site() as site:
            self.put("a.csv", "id,url\n" + "".join(f"{row['id']},{row['url']}\n" for row in site.rows(10)))
            results = list(inflight.fetch(self.read("a.csv"), command=COMMAND, format="jpeg", **LOCAL))
        self.assertEqual(sorted(result.id for result in results), [f"row-{n}" for n in range(10)])
        self.assertEqual(sum(result.status == "success" for result in results), 9)

    def test_malformed_files_are_errors_after_the_rows_before(self):
        for name, content, rows, message in (
            ("a.csv", "url,id\nu1,1\nu2\n", 1, "a.csv', line 3: 1 fields instead of 2"),
            ("a.csv", "", 0, "has no header"),
            ("a.csv", b"url\nu1\n\xff\n", 0, "cannot be read: UnicodeDecodeError"),
            ("a.jsonl", '{"url": "u1"}\n{"url"\n', 1, "a.jsonl', line 2: malformed JSON"),
            ("a.jsonl", "[]\n", 0, "line 1: not a JSON object"),
            ("a.csv.gz", gzip.compress(b"url\nu1\n")[:-6], 1, "cannot be read: EOFError"),
            ("a.parquet", b"no Parquet", 0, "cannot be read: ArrowInvalid"),
        ):
            self.put(name, content)
            found = []
            with self.assertRaisesRegex(inflight.InputError, message):
                found.extend(self.read(name))
            self.assertEqual(len(found), rows, name)

    def test_missing_files_unknown_formats_and_refusals_are_errors_at_once(self):
        self.put("a.xml", "")
        for name, message in (("none.csv", "does not exist"), ("none-*.csv", "does not exist"),
                              ("a.xml", "has no known format")):
            with self.assertRaisesRegex(inflight.InputError, message):
                self.read(name)
        self.store.fault = lambda _: error(403, "AccessDenied", "It is a-secret-key.")
        with self.assertRaisesRegex(inflight.InputError, "cannot be read: PermissionError") as caught:
            self.read("a.csv")
        self.assertNotIn("a-secret-key", str(caught.exception))
        for url in ("s3://name:secret@bucket/a.csv", "gs://bucket/a.csv?token=secret"):
            with self.assertRaisesRegex(inflight.InflightError, "Give credentials in storage_options") as caught:
                inflight.read_rows(url)
            self.assertNotIn("secret", str(caught.exception))

    def test_a_connection_that_ends_is_opened_again(self):
        self.put("a.csv", "url\n" + "u\n" * 10)
        drops = []

        def fault(request):
            if request.operation == "Get" and not drops:
                drops.append(request)
                return DROP
            return None

        self.store.fault = fault
        self.assertEqual((len(list(self.read("a.csv"))), len(drops)), (10, 1))


if __name__ == "__main__":
    unittest.main()
