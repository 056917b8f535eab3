"""Lists in object stores are streamed into `inflight batch`, in the layouts in which datasets are published."""

import gzip
import json
import os
import unittest

import pyarrow as pa
import pyarrow.parquet as pq
import s3fs
from stores import DROP, error
from test_main import STANDIN
from uploads import OPTIONS, Case, shards

s3fs.S3FileSystem.retries = 2


class ListCase(Case):
    def put(self, name, content):
        self.fs.pipe_file(f"{self.root}/{name}", content if isinstance(content, bytes) else content.encode())
        return f"{self.out}/{name}"

    def parquet(self, name, rows, **options):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink, **options)
        return self.put(name, sink.getvalue().to_pybytes())


class Rows(ListCase):
    """What reaches the command."""

    def setUp(self):
        super().setUp()
        (self.folder / "inflight").write_text(STANDIN)
        (self.folder / "inflight").chmod(0o700)
        self.environment["INFLIGHT"] = str(self.folder / "inflight")

    def given(self, *arguments):
        found = json.loads(self.batch(*arguments, status=7))
        return found["arguments"][1:], found["input"]

    def test_files_are_given_as_one(self):
        for name, format, contents, expected in (
            ("csv", "csv", ['url,id\r\nu1,"1\n"\r\n', "\ufeffurl,id\nu2,2"], 'url,id\r\nu1,"1\n"\r\nu2,2\n'),
            ("tsv", "tsv", ["url\nu1\n", "url\nu2\n"], "url\nu1\nu2\n"),
            ("jsonl", "json", ['{"url": "u1"}', '{"url": "u2"}\n'], '{"url": "u1"}\n{"url": "u2"}\n'),
            ("json", "json", ['[{"url": "u1"}]', "[]"], '[{"url": "u1"}]\n[]\n'),
            ("txt", "text", ["u1\nu2", "u3"], "u1\nu2\nu3\n"),
        ):
            for suffix, compress in (("", bytes), (".gz", gzip.compress),
                                     (".zst", lambda data: bytes(pa.compress(data, "zstd", asbytes=True)))):
                urls = [self.put(f"{name}-{n}.{name.upper()}{suffix}", compress(content.encode()))
                        for n, content in enumerate(contents)]
                expected_arguments = ["-", "-o", "out", "--input-format", format]
                self.assertEqual(self.given(*urls, "-o", "out"), (expected_arguments, expected))
                self.assertEqual(self.given(f"{self.out}/{name}-*{suffix}" if suffix else f"{self.out}/{name}-*[A-Z]",
                                            "-o", "out"), (expected_arguments, expected))

    def test_the_format_may_be_given(self):
        url = self.put("1f0c", "url\nu1\n")
        self.assertEqual(self.given(url, "--input-format", "csv"), (["-", "--input-format", "csv"], "url\nu1\n"))

    def test_tables_without_a_header_have_none_to_leave_out(self):
        urls = [self.put(f"{n}.tsv", "a caption\tu1\n") for n in range(2)]
        self.assertEqual(self.given(*urls, "--columns-are", "caption,url")[1], "a caption\tu1\n" * 2)

    def test_rows_in_parquet_have_their_file(self):
        urls = [self.parquet(f"{n}.parquet", [{"url": f"u{n}"}] * 2) for n in range(2)]
        arguments, rows = self.given(f"{self.out}/*.parquet")
        self.assertEqual(arguments, ["-", "--input-format", "jsonl", "--rows-of", f"{urls[0]}=2", "--rows-of",
                                     f"{urls[1]}=2"])
        self.assertEqual([json.loads(line)["url"] for line in rows.splitlines()], ["u0", "u0", "u1", "u1"])

    def test_lists_that_cannot_be_used_are_errors(self):
        a, b = self.put("a.csv", "url\nu1\n"), self.put("b.csv", "id,url\n1,u1\n")
        empty = self.parquet("empty.parquet", [{"url": "u"}][:0] or [{"url": None}])
        for arguments, status, message in (
            ([a, "b.csv"], 64, "URLs and other inputs cannot be combined"), ([a, "-"], 64, "cannot be combined"),
            ([a, self.put("c.jsonl", "")], 64, "one format"), ([a, empty], 64, "one format"),
            ([a, "--stream"], 64, "combined with --stream"),
            ([f"{self.out}/none.csv"], 66, "does not exist"), ([f"{self.out}/none*.parquet"], 66, "does not exist"),
            ([self.put("a.xml", "")], 66, "no known format"), ([self.put("a.parquet", "text")], 65, "a.parquet: "),
            ([empty, "--url-column", "uri"], 65, "has no column 'uri'"), (["ftp2://host/a.csv"], 66, "cannot be read"),
            (["s3://key:secret-1@bucket/a.csv"], 64, "Give credentials in"), ([a, b], 66, "b.csv' has another header"),
        ):
            text = self.batch(*arguments, "-o", "out", status=status, says=message)
            self.assertNotIn("secret-1", text)
        self.store.fault = lambda _: error(403, "AccessDenied", "of a-secret-key")
        self.batch(a, "-o", "out", status=66, says="cannot be read: PermissionError")
        self.batch(f"{self.out}/empty.parquet", "-o", "out", status=66)


class Runs(ListCase):
    def test_lists_in_a_store_become_the_dataset_of_local_ones(self):
        rows = self.site.rows(40)
        local = self.local(self.list(rows=rows), *OPTIONS)
        lines = [json.dumps(row) + "\n" for row in rows]
        for part, first in (("a", 0), ("b", 20)):
            self.put(f"in/{part}.jsonl.gz", gzip.compress("".join(lines[first:first + 20]).encode()))
            self.parquet(f"in/{part}.parquet", rows[first:first + 20], row_group_size=7)
        for pattern in ("*.jsonl.gz", "*.parquet"):
            out = f"{self.out}/{pattern[2:]}"
            self.batch(f"{self.out}/in/{pattern}", "-o", out, *OPTIONS)
            root = out.removeprefix("s3://")
            found = {path.rpartition("/")[2]: self.fs.cat_file(path) for path in self.fs.find(root)}
            self.assertEqual(shards(found), local)

    def test_a_connection_that_ends_is_opened_again(self):
        url, drops = self.put("a.txt", "".join(row["url"] + "\n" for row in self.site.rows(20))), []

        def fault(request):
            if request.operation == "Get" and request.key.endswith("a.txt") and not drops:
                drops.append(request)
                return DROP
            return None

        self.store.fault = fault
        self.batch(url, "-o", "out", *OPTIONS)
        self.assertEqual(len(drops), 1)
        self.batch("verify", "out", says="20 rows")

    def test_damage_and_refusal_end_the_run_which_resumes(self):
        content = "url\n" + "".join(f"{self.site.urls[0]}/missing/{n}-{os.urandom(99).hex()}\n" for n in range(400))
        whole = gzip.compress(content.encode())
        url = self.put("a.csv.gz", whole[:-3000])
        self.batch(url, "-o", "out", *OPTIONS, status=66, says="a.csv.gz' cannot be read: EOFError")
        self.assertFalse((self.folder / "out" / "input.zst").exists())
        self.put("a.csv.gz", whole)
        self.batch(url, "-o", "out", *OPTIONS)
        self.batch("verify", "out", says="400 rows")
        self.fs.rm_file(f"{self.root}/a.csv.gz")
        self.batch("retry", "out", "--class", "http_404")

    def test_a_retry_before_all_rows_were_read_reads_parquet_again(self):
        url = self.parquet("a.parquet", [{"url": f"{self.site.urls[0]}/missing/{n}"} for n in range(4)])
        self.batch(url, "-o", "out", *OPTIONS)
        (self.folder / "out" / "input.zst").unlink()
        self.batch("retry", "out", "--class", "http_404")
        self.batch("verify", "out", says="4 rows")


class Layouts(ListCase):
    """The metadata of published datasets, as their pages describe them."""

    def rows_of(self, *arguments):
        self.batch(*arguments, "-o", "out", *OPTIONS)
        with pa.CompressedInputStream(str(self.folder / "out" / "00000.jsonl.zst"), "zstd") as stream:
            return [json.loads(line) for line in stream.read().splitlines()]

    def test_laion(self):
        rows = [{"SAMPLE_ID": float(n), "URL": f"{self.site.urls[0]}/image/{n}", "TEXT": f"text {n}", "HEIGHT": 30.0,
                 "WIDTH": 20.0 + n, "LICENSE": "?", "NSFW": "UNLIKELY", "similarity": 0.3} for n in range(4)]
        for part in range(2):
            self.parquet(f"part-0000{part}-5114fd87.c000.snappy.parquet", rows[2 * part:2 * part + 2])
        found = self.rows_of(f"{self.out}/part-*.parquet", "--url-column", "URL", "--caption-column", "TEXT")
        self.assertEqual([row["status"] for row in found], ["success"] * 4)
        self.assertEqual([row["TEXT"] for row in found], [row["TEXT"] for row in rows])

    def test_datacomp(self):
        import hashlib

        rows = [{"uid": f"{n:032x}", "url": f"{self.site.urls[0]}/image/{n}", "text": f"text {n}", "original_width": 20,
                 "original_height": 30, "clip_b32_similarity_score": 0.3, "face_bboxes": [[0.1, 0.1, 0.5, 0.5]],
                 "sha256": hashlib.sha256(self.site.image(n)).hexdigest()} for n in range(3)]
        rows[2]["sha256"] = "0" * 64
        self.parquet("metadata/0a.parquet", rows)
        found = self.rows_of(f"{self.out}/metadata/*.parquet", "--id-column", "uid", "--keys", "id", "--caption-column",
                             "text", "--sha256-column", "sha256", "--bbox-column", "face_bboxes")
        self.assertEqual([row["key"] for row in found], [row["uid"] for row in rows])
        self.assertEqual([row["error_class"] for row in found], [None, None, "hash_mismatch"])

    def test_cc3m(self):
        lines = [f'a "quoted caption {n}\t{self.site.urls[0]}/image/{n}\n' for n in range(3)]
        url = self.put("Train_GCC-training.tsv", "".join(lines))
        found = self.rows_of(url, "--columns-are", "caption,url", "--caption-column", "caption")
        self.assertEqual([row["caption"] for row in found], [f'a "quoted caption {n}' for n in range(3)])
        self.assertEqual({row["status"] for row in found}, {"success"})

    def test_hugging_face(self):
        for n in range(2):
            self.parquet(f"data/train-0000{n}-of-00002.parquet",
                         [{"image_url": f"{self.site.urls[0]}/image/{n}", "caption": ["one", "two"], "meta": {"n": n}}])
        found = self.rows_of(f"{self.out}/data/train-*.parquet", "--url-column", "image_url")
        self.assertEqual([(row["caption"], row["meta"]) for row in found], [(["one", "two"], {"n": n}) for n in (0, 1)])


if __name__ == "__main__":
    unittest.main()
