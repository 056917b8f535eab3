"""The package on Spark: two executors, each a process of its own."""

import collections
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

import inflight
import pyarrow.parquet as pq
from datasets import images, on_one_machine, rows, sidecars
from inflight.spark import fetch, update_dataset, write_dataset
from pyspark.sql import SparkSession
from stores import S3, error
from support import COMMAND, LOCAL, ROOT, Site

OPTIONS = LOCAL | {"size": "16x16", "format": "jpeg"}
FLAGS = ["--allow-private", "--retries", "0", "--size", "16x16", "--format", "jpeg"]


def session(**configuration):
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "4")
    builder = builder.config("spark.executorEnv.INFLIGHT", COMMAND).config("spark.log.level", "ERROR")
    for name, value in configuration.items():
        builder = builder.config("spark." + name.replace("_", "."), value)
    return builder.getOrCreate()


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        cls.spark = session(task_maxFailures="1")
        cls.addClassCleanup(cls.spark.stop)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # The command slows down for hosts whose latency rises. On a busy machine, many hosts with few rows avoid that.
        self.site = self.enterContext(Site(hosts=50))

    def frame(self, records):
        return self.spark.createDataFrame(records, "id string, url string, caption string")

    def records(self, count):
        return [row | {"caption": f"caption of {row['id']}"} for row in self.site.rows(count)]

    def test_fetching_adds_columns_to_each_row(self):
        records = [*self.records(200), {"id": "null", "url": None, "caption": None}]
        found = {row["id"]: row for row in fetch(self.frame(records), partitions=3, **OPTIONS).collect()}
        self.assertEqual(len(found), 201)
        for record in records[:-1]:
            row, is_missing = found[record["id"]], "missing" in record["url"]
            self.assertEqual((row["url"], row["caption"]), (record["url"], record["caption"]))
            self.assertEqual(row["status"], "failed_to_download" if is_missing else "success")
            self.assertEqual((row["bytes"] is None, row["error_message"] is None), (is_missing, not is_missing))
        self.assertEqual((found["row-0"]["width"], found["row-0"]["original_height"]), (11, 30))
        self.assertEqual(found["null"]["status"], "rejected")

    def test_a_dataset_has_each_row_once_and_the_images_of_one_machine(self):
        records = self.records(300)
        manifest = write_dataset(self.frame(records), self.folder / "out", id="id", partitions=9, caption="caption",
                                 shard_size=40, **OPTIONS)
        manifest.verify()
        keys, hashes = on_one_machine(
            records, self.folder / "one", "--keys", "id", "--id-column", "id", "--caption-column", "caption", *FLAGS)
        self.assertEqual(rows(sidecars(manifest)), keys)
        self.assertEqual(images(manifest.shards), hashes)
        self.assertEqual((manifest.rows, manifest.successes, manifest.failed_to_download), (300, 270, 30))
        self.assertEqual({path.name for path in (self.folder / "out").iterdir() if "shards" not in path.name},
                         {"manifest.json"})

    def test_keys_by_digest_are_those_of_one_machine(self):
        records = self.records(50)
        manifest = write_dataset(self.frame(records).drop("id", "caption"), self.folder / "out", **OPTIONS)
        keys, hashes = on_one_machine(records, self.folder / "one", "--keys", "digest", *FLAGS)
        self.assertEqual((rows(sidecars(manifest)), images(manifest.shards)), (keys, hashes))

    def test_a_parquet_dataset_has_all_rows_with_their_columns(self):
        records = [*self.records(60), {"id": "null", "url": None, "caption": None}]
        manifest = write_dataset(self.frame(records), self.folder / "out", id="id", caption="caption",
                                 layout="parquet", scratch=str(self.folder), **OPTIONS)
        table = pq.read_table(manifest.shards)
        self.assertEqual(table.column_names,
                         ["url", "key", "status", "error_message", "error_class", "width", "height",
                          "original_width", "original_height", "exif", "sha256", "id", "caption", "jpg"])
        found = {row["key"]: row for row in table.to_pylist()}
        self.assertEqual((len(found), manifest.rows, manifest.rejected), (61, 61, 0))
        self.assertEqual((found["row-1"]["jpg"][:2], found["row-1"]["caption"]), (b"\xff\xd8", "caption of row-1"))
        self.assertEqual((found["row-9"]["jpg"], found["row-9"]["status"]), (None, "failed_to_download"))

    def test_no_host_gets_more_requests_at_once_than_its_limit(self):
        # A third of the rows is of one host, which is split.
        hot = [{"id": f"hot-{n}", "url": f"{self.site.urls[0]}/image/{n}", "caption": ""} for n in range(60)]
        result = fetch(self.frame(self.records(100) + hot), partitions=6, per_host=3, **OPTIONS)
        self.assertEqual(collections.Counter(row["status"] for row in result.select("status").collect()),
                         {"success": 150, "failed_to_download": 10})
        self.assertLessEqual(max(self.site.most.values()), 3)

    def test_a_prefix_makes_room_for_columns_of_the_input(self):
        url = f"{self.site.urls[0]}/image/1"
        for schema in ("id long, url string, text string, width int, height int, image_phash string",  # COYO
                       "uid string, url string, text string, original_width int, original_height int, sha256 string",
                       "SAMPLE_ID long, URL string, TEXT string, HEIGHT int, WIDTH int, similarity double"):  # LAION
            names = [column.split()[0] for column in schema.split(", ")]
            frame = self.spark.createDataFrame([tuple(url if name.lower() == "url" else None for name in names)], schema)
            with self.assertRaisesRegex(inflight.ColumnError, "Give added columns a prefix: prefix='fetched_'"):
                fetch(frame, **OPTIONS)
            target = str(self.folder / names[0])
            fetch(frame, prefix="fetched_", **OPTIONS).write.parquet(target)
            row = self.spark.read.parquet(target).first()
            self.assertEqual((row["fetched_status"], row["fetched_width"], row[names[1]]), ("success", 11, url))
            self.assertEqual(list(row.asDict())[: len(names)], names)
            with self.assertRaisesRegex(inflight.ColumnError, "Give another prefix than 'fetched_'"):
                fetch(frame.withColumnRenamed(names[2], "FETCHED_Bytes"), prefix="fetched_", **OPTIONS)

    def test_names_are_compared_with_case_if_spark_does(self):
        url = f"{self.site.urls[0]}/image/1"
        frame = self.spark.createDataFrame([(url, 7)], "URL string, Height int")
        for call in (fetch, lambda frame, **options: write_dataset(frame, self.folder / "out", **options)):
            with self.assertRaisesRegex(inflight.ColumnError, "no column 'link'"):
                call(frame, url="link", **OPTIONS)
        manifest = write_dataset(frame, self.folder / "out", id="HEIGHT", **OPTIONS)
        self.assertEqual((manifest.successes, list(images(manifest.shards))), (1, ["7"]))
        self.spark.conf.set("spark.sql.caseSensitive", "true")
        self.addCleanup(self.spark.conf.unset, "spark.sql.caseSensitive")
        with self.assertRaisesRegex(inflight.ColumnError, "no column 'url'"):
            fetch(frame, **OPTIONS)
        row = fetch(frame, url="URL", **OPTIONS).first()
        self.assertEqual((row["Height"], row["height"], row["status"]), (7, 16, "success"))

    def test_ids_may_be_numbers(self):
        url = f"{self.site.urls[0]}/image/1"
        for kind, value, key in (("long", 1 << 40, "1099511627776"), ("double", 2.5, "2_5")):
            frame = self.spark.createDataFrame([(value, url)], f"id {kind}, url string")
            for layout in ("webdataset", "parquet"):
                folder = self.folder / f"{kind}-{layout}"
                manifest = write_dataset(frame, folder, id="id", layout=layout, **OPTIONS)
                if layout == "parquet":
                    row = pq.read_table(manifest.shards).to_pylist()[0]
                    self.assertEqual((row["id"], row["key"][: len(key)]), (value, key))
                else:
                    self.assertEqual([name[: len(key)] for name in images(manifest.shards)], [key])

    def test_an_update_fetches_new_rows_and_failures_to_retry_and_has_each_row_once(self):
        records = self.records(60)
        for layout in ("webdataset", "parquet"):
            out = self.folder / layout
            values = {"id": "id", "partitions": 3, "shard_size": 20, "layout": layout, "job": "first"}
            first = write_dataset(self.frame(records[:40]), out, **values, **OPTIONS)
            self.assertEqual((first.rows, first.successes), (40, 36))
            self.assertEqual(update_dataset(self.frame(records[:40]), out), first)
            count = self.site.count
            second = update_dataset(self.frame(records), out, partitions=3, job="second")
            self.assertEqual((second.rows, second.successes, self.site.count - count), (60, 54, 20))
            self.assertEqual(update_dataset(self.frame(records), out, job="second"), second)
            # Missing images have appeared, but for two that the list no longer has.
            appeared = [row | {"url": row["url"].replace("missing", "image")} for row in records[:50]]
            count = self.site.count
            third = update_dataset(self.frame(appeared), out, retry=["http_404"], partitions=3)
            third.verify()
            self.assertEqual((third.rows, third.successes, third.failed_to_download, self.site.count - count),
                             (60, 59, 1, 5))
            self.assertEqual(inflight.read_manifest(out), third)
            if layout == "parquet":
                table = pq.read_table(third.shards)
                keys, found = collections.Counter(table["key"].to_pylist()), table["jpg"].null_count
                self.assertEqual(found, 1)
            else:
                keys = rows(sidecars(third))
                self.assertEqual(len(images(third.shards)), 59)
            self.assertEqual(keys, {row["id"]: 1 for row in records})
            statistics = [json.loads((out / file.path).read_text()) for file in third.files
                          if file.path.endswith("_stats.json")]
            self.assertEqual(sum(value["count"] for value in statistics), 60)
            self.assertEqual(sum(value["status_dict"].get("http_404", 0) for value in statistics), 1)

    def test_an_update_needs_a_dataset(self):
        with self.assertRaisesRegex(inflight.DatasetError, "has no manifest"):
            update_dataset(self.frame(self.records(1)), self.folder / "out")

    def test_a_dataset_in_an_object_store(self):
        records = self.records(100)
        with S3() as store:
            store.make_bucket()
            credentials = {"storage_options": store.options}
            manifest = write_dataset(self.frame(records), "s3://bucket/data", id="id", job="night", partitions=3,
                                     **credentials, **OPTIONS)
            manifest.verify(**credentials)
            self.assertEqual((manifest.rows, manifest.successes), (100, 90))
            again = write_dataset(self.frame(records), "s3://bucket/data", job="night", **credentials)
            self.assertEqual(again, manifest)
            uploads = [request.key for request in store.requests if request.operation == "Put"]
            more = update_dataset(self.frame(self.records(110)), "s3://bucket/data", **credentials)
            more.verify(**credentials)
            self.assertEqual((more.rows, more.successes), (110, 99))
            with self.assertRaisesRegex(Exception, "no writing"):
                refusal = error(403, "AccessDenied", "no writing")
                store.fault = lambda request: refusal if ".tar" in request.key else None
                write_dataset(self.frame(records), "s3://bucket/more", id="id", **credentials, **OPTIONS)
        self.assertEqual(len(uploads), len(set(uploads)) + 1)  # the probe's second write

    def test_no_rows_are_an_empty_dataset(self):
        self.assertEqual(fetch(self.frame([]), **OPTIONS).collect(), [])
        self.assertEqual(write_dataset(self.frame([]), self.folder / "out", **OPTIONS).rows, 0)

    def test_a_restarted_driver_gets_the_published_manifest(self):
        frame = self.frame(self.records(10))
        published = write_dataset(frame, self.folder / "out", job="night", **OPTIONS)
        count = self.site.count
        self.assertEqual(write_dataset(frame, self.folder / "out", job="night", **OPTIONS), published)
        self.assertEqual(self.site.count, count)

    def test_bad_columns_and_folders_are_errors_before_anything_runs(self):
        frame = self.frame(self.records(1))
        for message, arguments in (("no column 'link' (URL)", {"url": "link"}), ("no column 'x' (id)", {"id": "x"})):
            with self.assertRaisesRegex(inflight.ColumnError, re.escape(message)):
                write_dataset(frame, self.folder / "out", **arguments, **OPTIONS)
        with self.assertRaisesRegex(inflight.ColumnError, "'n' \\(URL\\) is not text, but int64"):
            fetch(self.spark.range(3).withColumnRenamed("id", "n"), url="n")
        with self.assertRaisesRegex(inflight.ColumnError, "has a column 'status', which the output needs"):
            fetch(frame.withColumnRenamed("caption", "status"))
        (self.folder / "out").mkdir()
        (self.folder / "out" / "mine").touch()
        with self.assertRaisesRegex(inflight.DatasetError, "is not empty"):
            write_dataset(frame, self.folder / "out", **OPTIONS)

    def test_errors_of_workers_name_their_cause_and_leave_no_dataset(self):
        frame = self.frame(self.records(5))
        for message, arguments in (
            ("'/nowhere/inflight' was not found on", {"command": "/nowhere/inflight"}),
            ("--no-such-option", {"no_such_option": True}),
        ):
            with self.assertRaisesRegex(Exception, message):
                write_dataset(frame, self.folder / "out", **OPTIONS | arguments)
            self.assertFalse((self.folder / "out").exists())
            with self.assertRaisesRegex(Exception, message):
                fetch(frame, **OPTIONS | arguments).collect()

    def test_the_examples_of_the_documentation(self):
        text = (ROOT / "Documentation/Cluster.md").read_text()
        block = next(block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "spark" in block)
        block = block.replace('format="jpeg"', 'format="jpeg", allow_private=True')
        printed = []
        exec(block, {"df": self.frame(self.records(20)), "out": self.folder, "print": lambda *v: printed.append(v)})
        self.assertEqual(printed[0][:2], (20, 18))
        self.assertEqual(self.spark.read.parquet(f"{self.folder}/images").count(), 20)


if __name__ == "__main__":
    unittest.main()
