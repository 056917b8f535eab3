"""Datasets in Parquet and TFRecord: `--layout` of `python -m inflight batch`."""

import fcntl
import importlib.util
import io
import json
import os
import pathlib
import struct
import tarfile
import tempfile
import unittest

from inflight import tfrecord
from inflight.layouts import ConvertedFolder
from support import COMMAND, Site, needs_command
from test_main import Case

needs_pyarrow = unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")


def records(data):
    """The records of a TFRecord file, whose checksums are right."""
    found = []
    while data:
        length, = struct.unpack("<Q", data[:8])
        record = data[12:12 + length]
        assert tfrecord.framed(record) == data[:length + 16]
        found.append(record)
        data = data[length + 16:]
    return found


def fields(data):
    """The fields of a message of protocol buffers, with their numbers. All have a length."""
    found = []
    while data:
        (tag, data), (length, data) = (data[0], data[1:]), varint(data[1:])
        assert tag & 7 == 2
        found.append((tag >> 3, data[:length]))
        data = data[length:]
    return found


def varint(data):
    value, shift = 0, 0
    for index, byte in enumerate(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, data[index + 1:]
    raise AssertionError


def example(record):
    """The features of an example by their names."""
    (one, features), = fields(record)
    assert one == 1
    return {fields(entry)[0][1].decode(): feature(fields(entry)[1][1]) for _, entry in fields(features)}


def feature(data):
    (kind, values), = fields(data)
    if kind == 1:
        return [value for _, value in fields(values)]
    (_, packed), = fields(values)
    if kind == 2:
        return list(struct.unpack(f"<{len(packed) // 4}f", packed))
    found = []
    while packed:
        value, packed = varint(packed)
        found.append(value - (1 << 64) if value >> 63 else value)
    return found


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, row, is_raw=False, **members):
        with tarfile.open(self.folder / "0.tar", "w") as tar:
            for suffix, content in ({"jpg": b"image", "json": json.dumps(row).encode()} | members).items():
                member = tarfile.TarInfo(f"k.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        tfrecord.write(self.folder / "0.tar", is_raw, self.folder / "0.tfrecord")
        record, = records((self.folder / "0.tfrecord").read_bytes())
        return example(record)

    def test_checksums_are_those_of_rfc_3720(self):
        for data, sum in ((b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43),
                          (bytes(range(32)), 0x46DD794E)):
            self.assertEqual((tfrecord.crc32c(data), tfrecord._crc32c(data)), (sum, sum))

    def test_a_record_has_masked_checksums(self):
        # As TensorFlow writes it.
        self.assertEqual(tfrecord.framed(b"abc").hex(), "0300000000000000" "b099490e" "616263" "6e57f121")

    def test_values_are_lists_of_bytes_integers_or_floats(self):
        row = {"text": "é", "number": -3, "large": 1 << 62, "beyond": 1 << 64, "real": 1.5, "huge": 1e300, "yes": True,
               "none": None, "names": ["a", "b"], "numbers": [1, -1], "reals": [1, 2.5], "mixed": [1, "a"], "empty": [],
               "nested": {"a": [1]}}
        self.assertEqual(self.written(row, txt=b"caption"), {
            "key": [b"k"], "jpg": [b"image"], "txt": [b"caption"], "text": ["é".encode()], "number": [-3],
            "large": [1 << 62], "beyond": [b"18446744073709551616"], "real": [1.5], "huge": [b"1e+300"], "yes": [1],
            "names": [b"a", b"b"], "numbers": [1, -1], "reals": [1.0, 2.5], "mixed": [b'[1, "a"]'], "empty": [],
            "nested": [b'{"a": [1]}']})

    def test_images_of_several_formats_have_one_name(self):
        self.assertEqual(self.written({"key": "k", "image": "column"}, True),
                         {"key": [b"k"], "image": [b"image"], "format": [b"jpg"]})


class Layout(Case):
    OPTIONS = (
        "-o", "out", "--format", "jpeg", "--size", "8x8", "--allow-private", "--retries", "0", "--shard-size", "4")

    def batch(self, *arguments):
        done = self.run_main("batch", *arguments, command=COMMAND)
        return done.returncode, done.stdout_text, done.stderr_text

    def out(self, *suffixes):
        """The files of the dataset, each with the number of its file."""
        return {path.name: path.stat().st_ino for path in (self.folder / "out").iterdir() if path.suffix in suffixes}

    def converts(self, count, layout, *arguments):
        status, _, messages = self.batch(*arguments)
        self.assertEqual((status, messages.splitlines()[-1]), (0, f"{count} shards converted to {layout} in out"))

    def check(self, layout, name, site):
        """Writes a dataset, resumes it, retries a shard, and damages it."""
        run = (name, *self.OPTIONS, "--layout", layout)
        self.converts(3, layout, *run)
        before = self.out(f".{layout}")
        self.assertEqual(set(before), {f"{number:05}.{layout}" for number in range(3)})
        self.assertEqual(set(self.out(".json")), {"layout.json"} | {f"{number:05}_stats.json" for number in range(3)})
        count = site.count
        self.converts(0, layout, *run)
        self.assertEqual((site.count, self.out(f".{layout}")), (count, before))
        self.assertEqual(self.batch("verify", "out"), (0, self.batch("verify", "out/run")[1], ""))
        self.assertEqual(self.batch("status", "out", "--json"), self.batch("status", "out/run", "--json"))

        site.released.set()
        self.assertEqual(self.batch("retry", "out", "--class", "http_404", "--quiet")[0], 0)
        after = self.out(f".{layout}")
        self.assertEqual({name for name in after if after[name] != before[name]}, {f"00001.{layout}"})
        self.assertEqual(self.batch("verify", "out")[0], 0)

        damaged = self.folder / "out" / f"00000.{layout}"
        content, times = bytearray(damaged.read_bytes()), damaged.stat()
        content[self.place_of_data(damaged)] ^= 1
        damaged.write_bytes(content)
        os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))
        (self.folder / "out" / f"00002.{layout}").unlink()
        (self.folder / "out" / "other").write_text("")
        status, found, _ = self.batch("verify", "out")
        self.assertEqual(status, 1)
        self.assertEqual([line.split(": ")[0] for line in found.splitlines()[-3:]],
                         [f"out/00000.{layout}", f"out/00002.{layout}", "out/other"])
        damaged.unlink(), (self.folder / "out" / "other").unlink()
        self.converts(2, layout, *run)
        self.assertEqual(self.batch("verify", "out")[0], 0)

    def place_of_data(self, path):
        """The place of a byte of an image."""
        if path.suffix != ".parquet":
            return path.stat().st_size // 2
        from pyarrow import parquet
        # The last column has the images. Parquet has no checksums of what surrounds the pages.
        images = parquet.ParquetFile(path).metadata.row_group(0).to_dict()["columns"][-1]
        start = images["dictionary_page_offset"] or images["data_page_offset"]
        return start + images["total_compressed_size"] // 2

    def urls(self, site):
        """Twelve rows, of which the sixth fails at first, and the last one always."""
        return [f"{site.urls[0]}/{'late' if n == 5 else 'page' if n == 11 else 'image'}/{n}" for n in range(12)]


@needs_command
class Layouts(Layout):
    def test_tfrecord(self):
        with Site() as site:
            rows = [{"url": url, "rank": n, "text": f"é {n}"} for n, url in enumerate(self.urls(site))]
            (self.folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            self.check("tfrecord", "a.jsonl", site)
        found = [example(record) for number in range(3)
                 for record in records((self.folder / "out" / f"{number:05}.tfrecord").read_bytes())]
        self.assertEqual([row["rank"] for row in found], [[n] for n in range(11)])
        for n, row in enumerate(found):
            self.assertEqual((row["key"], row["text"], row["url"], row["status"], row["original_width"]),
                             ([f"{n // 4:05}{n % 4:04}".encode()], [f"é {n}".encode()], [rows[n]["url"].encode()],
                              [b"success"], [20 + n]))
            self.assertEqual(row["jpg"][0][:3], b"\xff\xd8\xff")
            self.assertNotIn("error_message", row)

    @unittest.skipUnless(importlib.util.find_spec("tfrecord"), "needs tfrecord")
    def test_tfrecord_is_read_by_another_program(self):
        from tfrecord.reader import tfrecord_loader

        with Site() as site:
            rows = [{"url": url, "rank": n, "score": n / 4, "tags": ["a", str(n)]} for n, url in
                    enumerate(self.urls(site))]
            (self.folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            self.assertEqual(self.batch("a.jsonl", *self.OPTIONS, "--layout", "tfrecord")[0], 0)
        kinds = {"key": "byte", "jpg": "byte", "url": "byte", "rank": "int", "width": "int", "score": "float"}
        found = [row for number in range(3)
                 for row in tfrecord_loader(str(self.folder / "out" / f"{number:05}.tfrecord"), None, kinds)]
        self.assertEqual([(list(row["rank"]), list(row["score"])) for row in found],
                         [([n], [n / 4]) for n in range(12) if n not in (5, 11)])
        self.assertEqual({bytes(row["jpg"])[:3] for row in found}, {b"\xff\xd8\xff"})

    def test_bodies_that_are_stored_unchanged(self):
        with Site() as site:
            (self.folder / "a.txt").write_text(site.urls[0] + "/image/1\n")
            status, _, message = self.batch("a.txt", "-o", "out", "--raw", "--allow-private", "--layout", "tfrecord")
        self.assertEqual(status, 0, message)
        record, = records((self.folder / "out" / "00000.tfrecord").read_bytes())
        self.assertEqual((example(record)["image"], example(record)["format"]), ([site.image(1)], [b"png"]))

    def test_folders_of_others_are_refused(self):
        (self.folder / "a.txt").write_text("http://127.0.0.1:1/\n")
        run = ("a.txt", *self.OPTIONS)
        self.assertEqual(self.batch(*run, "--layout", "tfrecord", "--bad")[0], 64)
        self.assertFalse((self.folder / "out").exists())
        (self.folder / "kept").mkdir()
        (self.folder / "kept" / "layout.json").write_text('{"layout": "tfrecord", "schema": null}')
        self.assertEqual(self.batch("status", "kept")[0], 66)
        self.assertTrue((self.folder / "kept" / "layout.json").exists())
        self.assertEqual(self.batch(*run)[0], 0)
        for layout, reason in (("tfrecord", "is not empty"), ("parquet", "is not empty")):
            if layout == "tfrecord" or importlib.util.find_spec("pyarrow"):
                status, _, message = self.batch(*run, "--layout", layout)
                self.assertEqual(status, 73)
                self.assertIn(f"'out' {reason}. Use another folder.", message)
        self.assertEqual(self.batch(*run[:1], "-o", "b", *run[3:], "--layout", "tfrecord")[0], 0)
        (self.folder / "b" / "layout.json").write_text('{"layout": "parquet", "schema": null}')
        status, _, message = self.batch(*run[:1], "-o", "b", *run[3:], "--layout", "tfrecord")
        self.assertEqual(status, 73)
        self.assertIn("has the layout parquet", message)
        (self.folder / "b" / "layout.json").write_text("{")
        self.assertIn("is damaged", self.batch("verify", "b")[2])

    def test_one_run_converts_at_a_time(self):
        (self.folder / "a.txt").write_text("http://127.0.0.1:1/\n")
        (self.folder / "out").mkdir()
        other = os.open(self.folder / "out", os.O_RDONLY)
        self.addCleanup(os.close, other)
        fcntl.flock(other, fcntl.LOCK_EX)
        status, _, message = self.batch("a.txt", *self.OPTIONS, "--layout", "tfrecord")
        self.assertEqual(status, 73)
        self.assertIn("Another run converts the dataset in 'out'.", message)

    def test_an_interrupted_conversion_continues(self):
        with Site() as site:
            (self.folder / "a.txt").write_text("\n".join(self.urls(site)))
            self.assertEqual(self.batch("a.txt", *self.OPTIONS, "--layout", "tfrecord")[0], 0)
        (self.folder / "out" / "00001.tfrecord").rename(self.folder / "out" / "00001.tfrecord.partial")
        dataset = ConvertedFolder.opened(self.folder / "out")
        self.assertEqual(dataset.convert("jpeg"), 1)
        self.assertEqual(list(dataset.problems("jpeg")), [])


@needs_command
@needs_pyarrow
class ParquetLayout(Layout):
    def test_parquet(self):
        with Site() as site:
            self.write("a.parquet", url=self.urls(site), rank=range(12), tags=[["a", None]] * 12)
            self.check("parquet", "a.parquet", site)
        import pyarrow.parquet as pq

        path = self.folder / "out" / "00001.parquet"
        table, times = pq.read_table(path), path.stat()
        pq.write_table(table.set_column(0, "url", [["other"] * 4]), path)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertIn("00001.parquet: Its row group 1 differs from the rows of the shard.",
                      self.batch("verify", "out")[1])

    def test_columns_are_those_of_write_dataset(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        from inflight.manifest import Job, Part
        from inflight.part import write_part

        with Site() as site:
            urls = self.urls(site)
            columns = {"url": urls, "id": [str(n) for n in range(12)], "score": [n / 2 for n in range(12)],
                       "tags": [[1, None]] * 12, "status": [200] * 12, "width": pa.array([1.5] * 12, pa.float32())}
            self.write("a.parquet", **columns)
            status, _, message = self.batch(
                "a.parquet", *self.OPTIONS, "--layout", "parquet", "--keys", "id", "--id-column", "id")
            self.assertEqual(status, 0, message)
            options = {"format": "jpeg", "size": "8x8", "allow_private": True, "retries": 0, "shard_size": 4}
            job = Job.start(self.folder / "set", None, "parquet", options=options, url="url", id="id", caption=None,
                            command=COMMAND, scratch=None)
            part = write_part(job, 0, "1", 2, pa.table(columns).to_batches())
            self.assertIsInstance(part, Part)
            shards = job.commit([part]).shards
        for number, shard in enumerate(shards):
            found = pq.read_table(self.folder / "out" / f"{number:05}.parquet")
            self.assertEqual(found.schema, pq.read_schema(shard))
            self.assertEqual(found.to_pylist(), pq.read_table(shard).to_pylist())
        self.assertEqual(str(found.schema.field("input_width").type), "float")

    def test_types_that_change_convert_all_shards(self):
        import pyarrow.parquet as pq

        with Site() as site:
            urls = self.urls(site)
            self.write("a.parquet", url=urls[:8], rank=range(8), mixed=range(8))
            self.write("b.parquet", url=urls[8:], rank=[0.5] * 4, mixed=["x"] * 4)
            run = (*self.OPTIONS, "--layout", "parquet")
            self.converts(2, "parquet", "a.parquet", *run)
            self.converts(3, "parquet", "a.parquet", "b.parquet", *run)
        schemas = [pq.read_schema(self.folder / "out" / f"{number:05}.parquet") for number in range(3)]
        self.assertEqual({(str(schema.field("rank").type), str(schema.field("mixed").type)) for schema in schemas},
                         {("double", "string")})
        self.assertEqual(self.batch("verify", "out")[0], 0)
        before = self.out(".parquet")
        self.write("c.parquet", url=urls, rank=["x"] * 12, mixed=["x"] * 12)
        self.assertEqual(self.batch("c.parquet", *run)[0], 65)
        self.assertEqual(self.out(".parquet"), before)

    def test_lists_in_other_formats_and_bodies_of_several_formats(self):
        import pyarrow.parquet as pq

        with Site() as site:
            (self.folder / "a.csv").write_text(f"url,rank\n{site.urls[0]}/image/1,7\n")
            status, _, message = self.batch("a.csv", "-o", "out", "--raw", "--allow-private", "--layout", "parquet")
        self.assertEqual(status, 0, message)
        row, = pq.read_table(self.folder / "out" / "00000.parquet").to_pylist()
        self.assertEqual((row["rank"], row["image"], row["width"]), ("7", site.image(1), 21))


if __name__ == "__main__":
    unittest.main()
