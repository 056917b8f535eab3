"""The package on Ray: two nodes on this machine, each with processes of its own."""

import collections
import os
import pathlib
import re
import tempfile
import unittest

import inflight
import pyarrow as pa
import pyarrow.parquet as pq
import ray
import s3fs
from datasets import images, on_one_machine, rows, sidecars
from inflight.ray import fetch, update_dataset, write_dataset
from ray.cluster_utils import Cluster
from stores import S3, error
from support import COMMAND, LOCAL, ROOT, Site

OPTIONS = LOCAL | {"size": "16x16", "format": "jpeg"}
FLAGS = ["--allow-private", "--retries", "0", "--size", "16x16", "--format", "jpeg"]
STORE = 100 << 20


def cluster(nodes=2):
    """Starts nodes with one processor each."""
    os.environ |= {"INFLIGHT": COMMAND, "RAY_USAGE_STATS_ENABLED": "0"}
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": STORE})
    for _ in range(nodes - 1):
        started.add_node(num_cpus=2, object_store_memory=STORE)
    ray.init(address=started.address, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return started


class Ray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        started = cluster()
        cls.addClassCleanup(started.shutdown)
        cls.addClassCleanup(ray.shutdown)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # The command slows down for hosts whose latency rises. On a busy machine, many hosts with few rows avoid that.
        self.site = self.enterContext(Site(hosts=50))

    def dataset(self, records, blocks=4):
        schema = pa.schema([("id", pa.string()), ("url", pa.string())])
        size = -(-len(records) // blocks)
        return ray.data.from_arrow([
            pa.Table.from_pylist(records[n : n + size], schema) for n in range(0, len(records), size or 1)])

    def test_fetching_adds_columns_to_each_row(self):
        records = [*self.site.rows(200), {"id": "null", "url": None}]
        result = fetch(self.dataset(records), actors=2, **OPTIONS)
        found = {row["id"]: row for row in result.take_all()}
        self.assertEqual(len(found), 201)
        for record in records[:-1]:
            row, is_missing = found[record["id"]], "missing" in record["url"]
            self.assertEqual(row["status"], "failed_to_download" if is_missing else "success")
            self.assertEqual(row["url"], record["url"])
            self.assertEqual((row["bytes"] is None, row["error_message"] is None), (is_missing, not is_missing))
        self.assertEqual(found["null"]["status"], "rejected")

    def test_a_dataset_has_each_row_once_and_the_images_of_one_machine(self):
        records = self.site.rows(300)
        manifest = write_dataset(self.dataset(records), self.folder / "out", id="id", partitions=5, shard_size=40,
                                 **OPTIONS)
        manifest.verify()
        keys, hashes = on_one_machine(records, self.folder / "one", "--keys", "id", "--id-column", "id", *FLAGS)
        self.assertEqual((rows(sidecars(manifest)), images(manifest.shards)), (keys, hashes))
        self.assertEqual((manifest.rows, manifest.successes), (300, 270))

    def test_a_parquet_dataset_has_all_rows(self):
        manifest = write_dataset(self.dataset(self.site.rows(60)), self.folder / "out", layout="parquet", **OPTIONS)
        self.assertEqual(collections.Counter(pq.read_table(manifest.shards)["status"].to_pylist()),
                         {"success": 54, "failed_to_download": 6})

    def test_an_update_fetches_what_is_missing_and_chosen_failures_again(self):
        records = self.site.rows(60)
        for layout in ("webdataset", "parquet"):
            out = self.folder / layout
            first = write_dataset(self.dataset(records[:40]), out, id="id", layout=layout, partitions=3, shard_size=10,
                                  **OPTIONS)
            for rows_to_add in (records[:40], []):
                self.assertEqual(update_dataset(self.dataset(rows_to_add), out), first)
            count = self.site.count
            second = update_dataset(self.dataset(records), out, partitions=3, job="second")
            self.assertEqual((second.rows, second.successes, self.site.count - count), (60, 54, 20))
            self.assertEqual(update_dataset(self.dataset(records), out, job="second"), second)
            # Missing images have appeared, but for two that the list no longer has.
            appeared = [row | {"url": row["url"].replace("missing", "image")} for row in records[:50]]
            count = self.site.count
            third = update_dataset(self.dataset(appeared), out, retry=["http_404"], partitions=3)
            third.verify()
            self.assertEqual((third.rows, third.successes, third.failed_to_download, self.site.count - count),
                             (60, 59, 1, 5))
            self.assertEqual(inflight.read_manifest(out), third)
            keys = (collections.Counter(pq.read_table(third.shards)["key"].to_pylist()) if layout == "parquet"
                    else rows(sidecars(third)))
            self.assertEqual(keys, {row["id"]: 1 for row in records})

    def test_a_dataset_in_an_object_store(self):
        records = self.site.rows(60)
        with S3() as store:
            store.make_bucket()
            credentials = {"storage_options": store.options}
            manifest = write_dataset(self.dataset(records), "s3://bucket/ray", id="id", partitions=3, **credentials,
                                     **OPTIONS)
            manifest.verify(**credentials)
            self.assertEqual(inflight.read_manifest("s3://bucket/ray", **credentials), manifest)
            self.assertEqual((manifest.rows, manifest.successes), (60, 54))
            store.fault = lambda request: error(403, "AccessDenied", "no writing") if ".tar" in request.key else None
            with self.assertRaisesRegex(Exception, "no writing"):
                write_dataset(self.dataset(records), "s3://bucket/more", **credentials, **OPTIONS)
            store.fault = lambda _: None
            self.assertEqual(s3fs.S3FileSystem(use_listings_cache=False, **store.options).find("bucket/more"), [])

    def test_no_host_gets_more_requests_at_once_than_its_limit(self):
        hot = [{"id": f"hot-{n}", "url": f"{self.site.urls[0]}/image/{n}"} for n in range(60)]
        result = fetch(self.dataset(self.site.rows(100) + hot), actors=3, partitions=6, per_host=3, **OPTIONS)
        self.assertEqual(collections.Counter(row["status"] for row in result.take_all()),
                         {"success": 150, "failed_to_download": 10})
        self.assertLessEqual(max(self.site.most.values()), 3)

    def test_errors_name_their_cause_and_leave_no_dataset(self):
        frame = self.dataset(self.site.rows(5))
        with self.assertRaisesRegex(inflight.ColumnError, "no column 'link'"):
            fetch(frame, url="link")
        for message, arguments in (
            ("'/nowhere/inflight' was not found on", {"command": "/nowhere/inflight"}),
            ("--no-such-option", {"no_such_option": True}),
        ):
            with self.assertRaisesRegex(Exception, message):
                write_dataset(frame, self.folder / "out", **OPTIONS | arguments)
            self.assertFalse((self.folder / "out").exists())
            with self.assertRaisesRegex(Exception, message):
                fetch(frame, **OPTIONS | arguments).take_all()

    def test_the_examples_of_the_documentation(self):
        text = (ROOT / "Documentation/Cluster.md").read_text()
        block = next(block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "ray" in block)
        block = block.replace('format="jpeg"', 'format="jpeg", allow_private=True')
        names = {"ds": self.dataset(self.site.rows(20)), "out": self.folder}
        exec(block, names)
        self.assertEqual((names["manifest"].rows, names["manifest"].successes), (20, 18))


if __name__ == "__main__":
    unittest.main()
