"""`python -m inflight batch -o s3://…`: shards are uploaded once they are whole, whatever is killed or fails."""

import json
import os
import pathlib
import subprocess
import unittest

import s3fs
import uploads
from inflight.stores import place
from inflight.uploads import Scratch
from stores import DROP, error
from uploads import OPTIONS, Case, shards

s3fs.S3FileSystem.retries = 2


class Kills(uploads.Kills):
    """Runs that are killed, on moto."""


class Runs(Case):
    def test_a_run_leaves_the_shards_of_a_local_one_in_the_store(self):
        rows = self.list()
        self.batch(rows, "-o", self.out, *OPTIONS, says="What a resumed run needs is in .*inflight")
        objects = self.objects()
        self.assertEqual(shards(objects), self.local(rows, *OPTIONS))
        self.assertEqual(len(shards(objects)), 15)
        self.assertEqual(objects.keys() - shards(objects).keys(), {"_run.json", "_files.jsonl"})
        self.assertEqual([path.name for path in (self.scratch / "run").iterdir() if path.name[0].isdigit()], [])
        for request in self.store.requests:
            if request.operation == "Put" and request.key.endswith(".tar"):
                self.assertTrue([name for name in request.headers if name.lower().startswith("x-amz-checksum-")])
        self.store.requests.clear()
        self.batch(rows, "-o", self.out + "/", *OPTIONS)
        written = [request.key for request in self.store.requests if request.operation == "Put"]
        self.assertEqual(written, [f"{self.root.partition('/')[2]}/_files.jsonl"])
        self.assertEqual(self.objects(), objects)

    def test_files_may_stay(self):
        rows = self.list(20)
        self.batch(rows, "-o", self.out, "--scratch", "here", "--keep-local", *OPTIONS)
        local = {path.name: path.read_bytes() for path in (self.folder / "here" / "run").iterdir() if path.is_file()}
        self.assertEqual(shards(local), shards(self.objects()))
        self.batch("verify", self.out, "--scratch", "here", says="20 rows.*\n6 files compared")

    def test_the_url_of_a_folder_is_its_path(self):
        rows = self.list(10)
        self.batch(rows, "-o", f"file://{self.folder}/out", *OPTIONS)
        self.assertTrue((self.folder / "out" / "00000.tar").exists())
        self.batch("verify", f"file://{self.folder}/out", says="no problems")
        self.batch(rows, "-o", "file://out", *OPTIONS, status=64, says="has the form file:///path")

    def test_rows_in_parquet_are_uploaded_too(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(self.site.rows(20)), self.folder / "rows.parquet")
        self.batch("rows.parquet", "-o", self.out, *OPTIONS)
        self.assertEqual(len(shards(self.objects())), 6)

    def test_status_and_verify_read_the_store_with_the_scratch_folder_and_without(self):
        rows = self.list()
        self.batch(rows, "-o", self.out, *OPTIONS)
        self.batch("status", self.out, says=r"50.*\n(.*\n)*  in the store 5 shards, 50 rows, 45 images")
        self.batch("verify", self.out, says="15 files compared")
        found = json.loads(self.batch("status", self.out, "--json"))
        self.assertEqual((found["rows"], found["store"]["rows"], found["store"]["classes"]), (50, 50, {"http_404": 5}))
        elsewhere = self.folder / "elsewhere"
        self.scratch.rename(elsewhere)
        self.batch("status", self.out, says=r"rows    50\n  images  45\n  5 × http_404\n.*\.inflight'; if it was moved")
        self.assertEqual(json.loads(self.batch("status", self.out, "--json"))["store"]["images"], 45)
        self.batch("verify", self.out, says="15 files compared")
        self.batch("retry", self.out, status=66,
                   says="Only the scratch folder .*run can retry rows. It is '.*inflight'")
        self.fs.rm_file(f"{self.root}/00001.tar")
        self.fs.pipe_file(f"{self.root}/00002.tar", b"torn")
        content = bytearray(self.fs.cat_file(f"{self.root}/00003.tar"))
        content[600] ^= 1
        self.fs.pipe_file(f"{self.root}/00003.tar", bytes(content))
        self.fs.pipe_file(f"{self.root}/00009.tar", b"")
        for scratch in ([], ["--scratch", "elsewhere"]):
            text = self.batch("verify", self.out, *scratch, status=1)
            for problem in ("00001.tar: It is lost", "00002.tar: It has 4 instead of", "00003.tar: Its content is not",
                            "00009.tar: It does not belong"):
                self.assertIn(f"{self.out}/{problem}", text)
        self.fs.rm_file(f"{self.root}/_files.jsonl")
        self.batch("verify", self.out, status=66, says="its run has not ended.* It is '.*inflight'")
        self.batch("status", "s3://bucket/nothing", status=66, says="could not be read")

    def test_a_retry_fetches_the_shards_that_it_needs(self):
        rows = self.site.rows(50)
        rows[3]["url"], rows[44]["url"] = (f"{self.site.urls[0]}/late/{n}" for n in (3, 44))
        rows[15]["url"] = "http://127.0.0.1:9/nothing-serves-this"
        path = self.list(rows=rows)
        self.batch(path, "-o", self.out, *OPTIONS)
        self.assertEqual(json.loads(self.batch("status", self.out, "--json"))["transientClasses"], ["cannotConnect"])
        self.site.released.set()
        self.addCleanup(self.site.released.clear)
        for options, expected in (([], ["00001.tar"]), (["--class", "timedOut"], []),
                                  (["--class", "http_404"], [f"0000{n}.tar" for n in range(5)])):
            self.store.requests.clear()
            self.batch("retry", self.out, *options)
            got = [request.key.rpartition("/")[2] for request in self.store.requests if request.operation == "Get"]
            self.assertEqual([name for name in got if name.endswith(".tar")], expected)
        local = self.local(path, *OPTIONS)
        self.assertEqual(shards(self.objects()), local)
        self.assertEqual([path.name for path in (self.scratch / "run").iterdir() if path.name[0].isdigit()], [])
        self.batch("verify", self.out, says="15 files compared")

    def test_a_run_that_is_refused_in_the_middle_ends_and_resumes(self):
        rows = self.list()
        self.store.fault = lambda request: (
            error(403, "AccessDenied", "no writing of a-secret-key")
            if request.operation == "Put" and "00002.tar" in request.key else None)
        self.batch(rows, "-o", self.out, *OPTIONS, status=73,
                   says="00002.tar' could not be written: PermissionError: no writing of ….*\nCorrect the cause")
        self.store.fault = lambda _: None
        self.batch(rows, "-o", self.out, *OPTIONS)
        self.assertEqual(shards(self.objects()), self.local(rows, *OPTIONS))

    def test_an_end_that_cannot_be_written_is_an_error(self):
        rows = self.list(10)
        self.store.fault = lambda request: error(403, "AccessDenied", "no") if "_files" in request.key else None
        self.batch(rows, "-o", self.out, *OPTIONS, status=73,
                   says="_files.jsonl' could not be written: PermissionError")
        self.store.fault = lambda _: None
        self.batch(rows, "-o", self.out, *OPTIONS)
        self.batch("verify", self.out)

    def test_rejects_are_uploaded(self):
        path = self.list(10)
        with path.open("a") as file:
            file.write("malformed\n")
        self.batch(path, "-o", self.out, *OPTIONS)
        self.assertIn(b'"line":11', self.objects()["rejects.jsonl"])
        self.batch("verify", self.out)

    def test_a_full_scratch_disk_ends_the_run(self):
        self.scratch.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", self.scratch], capture_output=True)
        if mounted.returncode:
            self.skipTest("a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", self.scratch], check=True)
        self.batch(self.list(), "-o", self.out, *OPTIONS, status=73, says="(?i)space|disk")


class Refusals(Case):
    def test_an_output_belongs_to_one_run(self):
        rows = self.list(10)
        self.batch(rows, "-o", self.out, *OPTIONS)
        self.batch(rows, "-o", f"s3://bucket/other/{self.scratch.stem}", *OPTIONS, status=73,
                   says="belongs to the run of another output. Give another one with --scratch")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "file").write_text("")
        self.batch(rows, "-o", self.out, "--scratch", "full", *OPTIONS, status=73, says="full' is not empty")
        self.scratch.rename(self.folder / "moved")
        self.batch(rows, "-o", self.out, *OPTIONS, status=73,
                   says="belongs to another run, whose scratch folder is '.*inflight'. To resume")
        self.assertFalse(self.scratch.exists())
        self.batch(rows, "-o", self.out, "--scratch", "moved", *OPTIONS)
        self.fs.rm_file(f"{self.root}/_run.json")
        self.batch(rows, "-o", self.out, "--scratch", "moved", *OPTIONS, status=73, says="has lost '_run.json'")
        self.batch(rows, "-o", self.out, *OPTIONS, status=73, says="is not empty. Use another prefix")

    def test_arguments_that_are_refused_leave_nothing(self):
        rows = self.list(10)
        for out, options, status, message in (
            (self.out, ["--size", "x"], 64, "size"), (self.out, ["--then", "true"], 64, "combined with --then"),
            (self.out, ["--layout", "parquet"], 64, "has the layout webdataset, not 'parquet'"),
            ("s3://bucket/../other", [], 64, "cannot name a dataset"), ("ftp://host/x", [], 64, "unsupported scheme"),
            ("s3://key:secret-1@bucket/x", [], 64, "Give credentials in"),
            ("hdfs://host/x", [], 64, "cannot create a file exclusively"), ("az://container/x", [], 69, "needs adlfs"),
            ("s3://no-such-bucket/x", [], 73, "bucket does not exist"),
        ):
            text = self.batch(rows, "-o", out, *OPTIONS, *options, status=status, says=message)
            self.assertNotIn("secret-1", text)
        self.batch("none.jsonl", "-o", self.out, *OPTIONS, status=66)
        self.assertEqual(self.objects(), {})
        self.assertEqual([path.name for path in self.folder.iterdir()], ["rows.jsonl"])

    def test_bad_access_is_an_error_before_anything_runs(self):
        rows, count = self.list(10), self.site.count
        for code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "ExpiredToken"):
            self.store.fault = lambda _, code=code: error(403, code, f"It is {code}.")
            self.batch(rows, "-o", self.out, *OPTIONS, status=73, says=f"could not be listed.*It is {code}")
        self.store.fault = lambda request: error(403, "AccessDenied", "no") if request.operation == "Put" else None
        self.batch(rows, "-o", self.out, *OPTIONS, status=73, says="_run.json' could not be written")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            del self.environment[name]
        self.batch(rows, "-o", self.out, *OPTIONS, status=73, says="redentials")
        self.assertEqual((self.site.count, self.scratch.exists()), (count, False))

    def test_a_store_that_ignores_conditions_is_refused(self):
        original = self.store.perform

        def perform(method, path, headers, body):
            return original(method, path, {name: value for name, value in headers.items() if name != "If-None-Match"},
                            body)

        self.store.perform = perform
        self.addCleanup(delattr, self.store, "perform")
        self.batch(self.list(10), "-o", self.out, *OPTIONS, status=73, says="ignores the condition of a write")
        self.assertEqual(self.objects(), {})


class Program(Case):
    """The program of `--then`, without the command, which would wait before it calls the program again."""

    def setUp(self):
        super().setUp()
        self.scratch = Scratch.started(place(self.out, self.store.options), self.folder / "scratch")
        pathlib.Path(self.scratch.output).mkdir()
        self.file = pathlib.Path(self.scratch.output, "00000.tar")
        self.enterContext(self.scratch.uploading())

    def hand_over(self, content=b"shard"):
        self.file.write_bytes(content)
        done = subprocess.run([self.scratch.program, self.file], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def only(self, operation, answer, key=".tar"):
        self.store.fault = lambda request: answer if request.operation == operation and key in request.key else None

    def test_what_fails_may_be_handed_over_again_and_the_last_content_stays(self):
        for operation, answer, size, message in (
            ("Put", DROP, 3, "could not be written"), ("Put", error(503, "SlowDown", "too fast"), 3, "too fast"),
            ("Put", error(200, "InternalError", "body"), 3, "could not be written"),
            ("Put", (200, {"ETag": '"x"'}, b""), 4, "could not be written: FileNotFoundError"),
            ("UploadPart", error(403, "AccessDenied", "no"), 17 << 20, "could not be written: PermissionError"),
            ("Complete", error(200, "InternalError", "body"), 17 << 20, "could not be written"),
        ):
            if message.endswith("NotFoundError"):
                self.fs.rm_file(f"{self.root}/00000.tar")
            self.only(operation, answer)
            status, text = self.hand_over(os.urandom(size))
            self.assertEqual(status, 1)
            self.assertRegex(text, f"^inflight: '{self.out}/00000.tar' .*{message}")
            self.store.fault = lambda _: None
            for _ in range(2):
                self.assertEqual(self.hand_over(os.urandom(size)), (0, ""))
                self.assertEqual(self.objects()["00000.tar"], self.file.read_bytes())
            self.assertEqual(self.unfinished(), [])
        self.assertEqual(self.scratch.uploads()["00000.tar"].size, 17 << 20)

    def test_unfinished_uploads_of_killed_runs_are_aborted_and_others_are_not(self):
        prefix = self.root.partition("/")[2]
        for key in (f"{prefix}/00000.tar", f"{prefix}/below/00000.tar", f"{prefix}-2/00000.tar"):
            self.fs.call_s3("create_multipart_upload", Bucket="bucket", Key=key)
        Scratch.started(self.scratch.store, self.scratch.folder)
        self.assertEqual(self.unfinished(), [f"{prefix}-2/00000.tar", f"{prefix}/below/00000.tar"])

    def test_nothing_is_uploaded_into_the_output_of_another_run(self):
        self.fs.pipe_file(f"{self.root}/_run.json", b'{"run": "another", "scratch": "host:/folder"}')
        status, text = self.hand_over()
        self.assertEqual(status, 1)
        self.assertRegex(text, "belongs to another run, whose scratch folder is 'host:/folder'")
        self.assertEqual(set(self.objects()), {"_run.json"})

    def test_a_torn_record_is_left_out(self):
        self.hand_over()
        with (self.scratch.folder / "uploads.jsonl").open("a") as file:
            file.write('{"name": "00001.tar", "si')
        self.assertEqual(list(self.scratch.uploads()), ["00000.tar"])

    def test_without_its_process_the_program_fails(self):
        (self.scratch.folder / "socket").unlink()
        self.assertRegex(self.hand_over()[1], "cannot be uploaded: No such file")


if __name__ == "__main__":
    unittest.main()
