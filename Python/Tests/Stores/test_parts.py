"""Tasks write shards to local scratch and upload them. A loop takes the place of the engine."""

import collections
import pathlib
import subprocess
import tempfile
import unittest

import fsspec
import inflight
import pyarrow as pa
import pyarrow.parquet as pq
import s3fs
from datasets import images, on_one_machine, rows
from inflight.manifest import Job
from inflight.part import write_part
from inflight.update import IDENTITY, outcomes, tables, without_rows
from stores import S3, error
from support import COMMAND, LOCAL, Site

s3fs.S3FileSystem.retries = 2
OPTIONS = LOCAL | {"size": "16x16", "format": "jpeg", "shard_size": 10}
FLAGS = ["--allow-private", "--retries", "0", "--size", "16x16", "--format", "jpeg", "--keys", "id",
         "--id-column", "id"]
SCHEMA = pa.schema([("id", pa.string()), ("url", pa.string())])


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(S3())
        cls.site = cls.enterClassContext(Site(hosts=5))
        cls.store.make_bucket()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scratch").mkdir()
        self.store.fault = lambda _: None
        self.out = f"s3://bucket/{self.id().rpartition('.')[2]}"

    def start(self, layout="webdataset", **values):
        values = {"options": OPTIONS, "url": "url", "id": "id", "caption": None, "command": COMMAND,
                  "scratch": str(self.folder / "scratch")} | values
        return Job.start(self.out, None, layout, self.store.options, **values)

    def attempt(self, job, partition, records, attempt):
        return write_part(job, partition, attempt, 8, [pa.RecordBatch.from_pylist(records, SCHEMA)])

    def download(self, manifest):
        """Copies the files that the manifest names. Returns their paths."""
        fs, root = fsspec.core.url_to_fs(self.out, **self.store.options)
        copies = [self.folder / "copy" / file.path for file in manifest.files]
        for file, copy in zip(manifest.files, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            fs.get_file(f"{root}/{file.path}", str(copy))
        return copies

    def test_a_dataset_has_each_row_once_and_the_images_of_one_machine(self):
        records = self.site.rows(60)
        job = self.start()
        parts = [self.attempt(job, n, records[n::3], "first") for n in range(3)]
        # An attempt that fails while it uploads, and one that ends too late.
        self.store.fault = lambda request: (
            error(403, "AccessDenied", "no writing") if "00001.tar" in request.key else None)
        with self.assertRaisesRegex(inflight.DatasetError, "no writing"):
            self.attempt(job, 1, records[1::3], "second")
        self.store.fault = lambda _: None
        parts[1] = self.attempt(job, 1, records[1::3], "third")
        manifest = job.commit(parts)
        manifest.verify(self.store.options)
        self.assertEqual(manifest, inflight.read_manifest(self.out, self.store.options))
        files = self.download(manifest)
        keys, hashes = on_one_machine(records, self.folder / "one", *FLAGS)
        self.assertEqual(rows(path for path in files if path.name.endswith(".jsonl.zst")), keys)
        self.assertEqual(images(path for path in files if path.suffix == ".tar"), hashes)
        self.assertEqual((manifest.rows, manifest.successes), (60, 54))
        fs, root = fsspec.core.url_to_fs(self.out, **self.store.options)
        self.assertEqual({path.removeprefix(f"{root}/") for path in fs.find(root)},
                         {"manifest-000001.json", *(file.path for file in manifest.files)})
        self.assertEqual(list((self.folder / "scratch").iterdir()), [])
        uploads = collections.Counter(request.key for request in self.store.requests if request.operation == "Put"
                                      and "attempt-second" not in request.key and "open" not in request.key)
        self.assertEqual(set(uploads.values()), {1})

    def test_a_parquet_dataset_is_read_straight_from_the_store(self):
        records = self.site.rows(60)
        job = self.start("parquet")
        manifest = job.commit([self.attempt(job, 0, records, "0")])
        fs = s3fs.S3FileSystem(**self.store.options)
        statuses = [status for shard in manifest.shards
                    for status in pq.read_table(shard.removeprefix("s3://"), filesystem=fs)["status"].to_pylist()]
        self.assertEqual(collections.Counter(statuses), {"success": 54, "failed_to_download": 6})

    def test_an_update_replaces_failures_by_their_new_outcomes(self):
        records = self.site.rows(40)
        for layout in ("webdataset", "parquet"):
            self.out += "-" + layout
            job = self.start(layout)
            first = job.commit([self.attempt(job, 0, records, "0")])
            update, _ = Job.update(self.out, None, self.store.options, command=COMMAND, scratch=None)
            known = pa.Table.from_batches([outcomes(update, path) for path in tables(first)]).to_pylist()
            self.assertEqual({row[IDENTITY]: row["class"] for row in known},
                             {f"id {row['id']}": "http_404" if "missing" in row["url"] else "" for row in records})
            replaced = []
            for number, path in enumerate(tables(first)):
                positions = [row["position"] for row in known if row["file"] == path and row["class"]]
                with tempfile.TemporaryDirectory() as scratch:
                    replaced.append(without_rows(update, path, positions, number, "0", pathlib.Path(scratch)))
            again = [row | {"url": row["url"].replace("missing", "image")} for row in records[9::10]]
            second = update.commit([*replaced, self.attempt(update, 0, again, "0")])
            second.verify(self.store.options)
            self.assertEqual((second.rows, second.successes, second.failed_to_download), (40, 40, 0))
            found = pa.Table.from_batches([outcomes(update, path) for path in tables(second)]).to_pylist()
            self.assertEqual(sorted(row[IDENTITY] for row in found), sorted(f"id {row['id']}" for row in records))
            self.assertEqual({row["class"] for row in found}, {""})

    def test_a_full_scratch_disk_is_an_error_and_nothing_is_published(self):
        scratch = self.folder / "scratch"
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", scratch], capture_output=True)
        if mounted.returncode:
            self.skipTest("a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", scratch], check=True)
        job = self.start()
        with self.assertRaisesRegex(inflight.CommandFailed, "status 73:\n.*(?i:space|disk)"):
            self.attempt(job, 0, self.site.rows(100), "0")
        job.abort()
        with self.assertRaisesRegex(inflight.DatasetError, "has no manifest"):
            inflight.read_manifest(self.out, self.store.options)

    def test_tasks_of_a_run_that_has_ended_write_nothing(self):
        job = self.start()
        job.commit([])
        with self.assertRaisesRegex(inflight.DatasetError, "has been published or removed"):
            self.attempt(job, 0, self.site.rows(1), "0")


if __name__ == "__main__":
    unittest.main()
