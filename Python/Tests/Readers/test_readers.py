"""Datasets in object stores, read by webdataset, Hugging Face `datasets` and DuckDB without a copy, on moto."""

import collections
import json
import pathlib
import sys
import tempfile
import unittest

import datasets
import duckdb
import fsspec
import inflight
import pyarrow as pa
import s3fs
import webdataset
from inflight.manifest import Job
from inflight.part import write_part
from webdataset.gopen import gopen_schemes

# Behind the packages, because there is another `datasets`.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

from support import COMMAND, LOCAL
from uploads import OPTIONS, Case

s3fs.S3FileSystem.retries = 2


class Streamed(s3fs.S3FileSystem):
    """`datasets` opens archives with `block_size=0`, which s3fs takes for an option of its session."""

    def __init__(self, *arguments, block_size=None, **options):
        super().__init__(*arguments, **options)


SCHEMA = pa.schema([("id", pa.string()), ("url", pa.string())])


class Readers(Case):
    """Each reads the 36 images of 40 rows."""

    def setUp(self):
        super().setUp()
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        datasets.config.HF_DATASETS_CACHE = cache.name
        self.rows = self.site.rows(40)
        self.images = {row["url"] for row in self.rows if "image" in row["url"]}
        datasets.disable_progress_bars()

    def upload(self):
        """Writes shards with `inflight batch`. Returns their URLs."""
        self.batch(self.list(rows=self.rows), "-o", self.out, *OPTIONS)
        return [f"{self.out}/0000{n}.tar" for n in range(4)]

    def write(self, layout):
        """Writes a dataset as the tasks of an engine do. Returns the URLs of its shards."""
        job = Job.start(self.out, None, layout, self.store.options, command=COMMAND, url="url", id="id", caption=None,
                        scratch=None, options=LOCAL | {"size": "16x16", "format": "jpeg", "shard_size": 10})
        job.commit([write_part(job, n, "0", 2, [pa.RecordBatch.from_pylist(self.rows[n::2], SCHEMA)]) for n in (0, 1)])
        return inflight.read_manifest(self.out, self.store.options).shards

    def test_webdataset(self):
        gopen_schemes["s3"] = lambda url, mode="rb", *_, **__: fsspec.open(url, mode, **self.store.options).open()
        for shards in (self.upload(), None):
            if shards is None:
                self.out += "-2"
                shards = self.write("webdataset")
            samples = webdataset.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("jpg", "json")
            found = [(image.size, values) for image, values in samples]
            self.assertEqual({values["url"] for _, values in found}, self.images)
            self.assertEqual([size for size, _ in found], [(v["width"], v["height"]) for _, v in found])

    def test_datasets(self):
        fsspec.register_implementation("s3", Streamed, clobber=True)
        self.addCleanup(fsspec.register_implementation, "s3", s3fs.S3FileSystem, clobber=True)
        for layout, shards in (("webdataset", self.upload()), ("parquet", None)):
            if shards is None:
                self.out += "-2"
                shards = self.write("parquet")
            loaded = datasets.load_dataset(layout, data_files=shards, split="train", streaming=True,
                                           storage_options=self.store.options)
            rows = list(loaded)
            urls = [row["json"]["url"] if layout == "webdataset" else row["url"] for row in rows if row["jpg"]]
            self.assertEqual((len(urls), set(urls)), (36, self.images))

    def test_rows_of_datasets_are_fetched(self):
        with self.fs.open(f"{self.root}/rows.jsonl", "w") as file:
            file.write("".join(json.dumps(row) + "\n" for row in self.rows))
        rows = datasets.load_dataset("json", data_files=f"{self.out}/rows.jsonl", split="train", streaming=True,
                                     storage_options=self.store.options)
        results = list(inflight.fetch(rows, command=COMMAND, format="jpeg", **LOCAL))
        self.assertEqual(collections.Counter(result.status for result in results),
                         {"success": 36, "failed_to_download": 4})
        self.assertEqual({result.id for result in results}, {row["id"] for row in self.rows})

    def test_duckdb(self):
        self.upload()
        with duckdb.connect() as connection:
            connection.register_filesystem(s3fs.S3FileSystem(**self.store.options))
            query = f"SELECT status, count(*) FROM read_json('{self.out}/*.jsonl.zst') GROUP BY status"
            self.assertEqual(dict(connection.execute(query).fetchall()), {"success": 36, "failed_to_download": 4})
            self.out += "-2"
            shards = self.write("parquet")
            query = "SELECT count(*), count(jpg), max(octet_length(jpg)) FROM read_parquet(?)"
            rows, images, size = connection.execute(query, [shards]).fetchone()
            self.assertEqual((rows, images), (40, 36))
            self.assertGreater(size, 100)


if __name__ == "__main__":
    unittest.main()
