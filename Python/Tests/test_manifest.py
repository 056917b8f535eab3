"""A dataset is published whole, once, by one job; readers trust the manifest alone."""

import dataclasses
import json
import os
import pathlib
import tempfile
import unittest
from datetime import timedelta

import inflight
from inflight.manifest import DataFile, Job, Manifest, Part


class Datasets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.out = self.root / "out"

    def start(self, name=None, **values):
        values = {"options": {"format": "jpeg", "quality": None}, "url": "url", "id": None, "caption": None,
                  "command": None, "scratch": None} | values
        return Job.start(self.out, name, "webdataset", **values)

    def staging(self, job):
        return job.place.staging(job.run)

    def part(self, job, number, attempt, size=3):
        name = f"part-{number:05}-attempt-{attempt}"
        (self.staging(job) / name).mkdir()
        (self.staging(job) / name / "00000.tar").write_bytes(b"x" * size)
        return Part(number, name, [DataFile(f"{name}/00000.tar", size)], successes=2, rejected=1)

    def files(self):
        return {str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file()}

    def test_the_manifest_names_the_attempts_that_were_committed_and_no_other_file_remains(self):
        job = self.start()
        parts = [self.part(job, 1, 4), self.part(job, 0, 2), Part(3)]
        self.part(job, 0, 3)
        with self.assertRaisesRegex(inflight.DatasetError, "has no manifest"):
            inflight.read_manifest(self.out)
        manifest = job.commit(parts)
        self.assertEqual(manifest, inflight.read_manifest(self.out))
        manifest.verify()
        self.assertEqual((manifest.rows, manifest.successes, manifest.rejected), (6, 4, 2))
        self.assertEqual(manifest.options, {"format": "jpeg"})
        self.assertEqual([os.path.relpath(path, self.out).partition("/")[2] for path in manifest.shards],
                         ["part-00000-attempt-2/00000.tar", "part-00001-attempt-4/00000.tar"])
        named = {os.path.relpath(path, self.out) for path in manifest.shards}
        self.assertEqual(self.files(), {"manifest.json"} | named)

    def test_an_output_folder_that_is_not_empty_is_refused_and_left_alone(self):
        self.out.mkdir()
        (self.out / "mine").write_text("")
        with self.assertRaisesRegex(inflight.DatasetError, "is not empty"):
            self.start()
        self.assertEqual(self.files(), {"mine"})
        (self.root / "file").write_text("")
        self.out = self.root / "file" / "out"
        with self.assertRaisesRegex(inflight.DatasetError, "cannot be used: Not a directory"):
            self.start()

    def test_a_file_url_is_the_path_of_a_folder(self):
        path = self.out
        self.out = f"file://{path}"
        job = self.start()
        published = job.commit([self.part(job, 0, 0)])
        self.assertEqual(inflight.read_manifest(path), published)
        self.assertEqual(inflight.read_manifest(self.out).files, published.files)
        self.assertEqual(published.shards, [f"{path}/{published.files[0].path}"])

    def test_urls_that_cannot_name_a_dataset_are_refused_and_create_no_folder(self):
        os.chdir(self.root)
        self.addCleanup(os.chdir, "/")
        for url, message in (
            ("ftp://host/data", "'ftp://host/data' has an unsupported scheme. Supported: s3, gs, az, file"),
            ("abfss://container@account.dfs.core.windows.net/x", "has an unsupported scheme"),
            ("file://host/x", "has the form file:///path"), ("s3://", "cannot name a dataset"),
            ("s3://bucket/a/../b", "cannot name a dataset. Use s3://BUCKET/PREFIX without '..'"),
            ("s3://bucket//b", "cannot name a dataset"), ("gs://bucket/*", "cannot name a dataset"),
            ("hdfs://namenode/data", "Arrow file system cannot create a file exclusively"),
        ):
            self.out = url
            with self.assertRaisesRegex(inflight.DatasetError, message):
                self.start()
        self.assertEqual(list(self.root.iterdir()), [])

    def test_urls_with_credentials_are_refused_and_not_repeated(self):
        for url in ("s3://name:secret@bucket/data", "az://container/data?sv=1&sig=secret"):
            self.out = url
            with self.assertRaisesRegex(inflight.DatasetError, "Give credentials in storage_options") as caught:
                self.start()
            self.assertNotIn("secret", str(caught.exception))

    def test_a_header_which_may_have_credentials_is_not_published(self):
        job = self.start(options={"format": "jpeg", "header": ["Authorization: secret"]})
        self.assertEqual(job.commit([]).options, {"format": "jpeg"})
        self.assertNotIn("secret", (self.out / "manifest.json").read_text())

    def test_files_of_others_that_appear_during_a_job_stay(self):
        job = self.start()
        (self.out / "notes.txt").write_text("")
        job.commit([])
        self.assertEqual(self.files(), {"manifest.json", "notes.txt"})

    def test_a_restarted_driver_finds_the_manifest_or_starts_over(self):
        lost = self.start("night")
        self.part(lost, 0, 0)
        job = self.start("night")
        published = job.commit([self.part(job, 0, 0)])
        self.assertEqual(self.start("night"), published)
        self.assertFalse((self.out / "_staging").exists())
        with self.assertRaisesRegex(inflight.DatasetError, "already has the dataset of job 'night'"):
            self.start("day")

    def test_the_folder_of_another_job_is_refused(self):
        self.start("night")
        for name in ("day", None, "night-2"):
            with self.assertRaisesRegex(inflight.DatasetError, "is not empty"):
                self.start(name)

    def test_one_of_two_drivers_wins(self):
        first, second = self.start("night"), self.start("night")
        part = self.part(second, 0, 9)
        published = first.commit([self.part(first, 0, 1)])
        self.assertTrue(isinstance(published, Manifest))
        (self.staging(second) / part.folder).mkdir(parents=True, exist_ok=True)
        (self.staging(second) / part.files[0].path).write_bytes(b"xxx")
        self.assertEqual(second.commit([part]), published)
        published.verify()
        self.assertEqual(len(self.files()), 2)

    def test_lost_and_torn_files_are_errors(self):
        job = self.start()
        parts = [self.part(job, 0, 0)]
        shard = self.staging(job) / parts[0].files[0].path
        shard.write_bytes(b"")
        with self.assertRaisesRegex(inflight.DatasetError, "has 0 instead of 3 bytes"):
            job.commit(parts)
        shard.unlink()
        with self.assertRaisesRegex(inflight.DatasetError, "is lost: No such file"):
            job.commit(parts)
        with self.assertRaisesRegex(inflight.DatasetError, "has no manifest"):
            inflight.read_manifest(self.out)

    def test_an_update_adds_shards_and_vacuum_removes_what_is_not_needed(self):
        job = self.start("night")
        first = job.commit([self.part(job, 0, 0), self.part(job, 1, 0)])
        update, base = Job.update(self.out, None, command=None, scratch=None)
        self.assertEqual(base, first)
        replaced = first.files[0].path
        part = dataclasses.replace(self.part(update, 0, 0), replaces=[replaced], successes=0, rejected=-1)
        second = update.commit([part])
        self.assertEqual((second.rows, second.successes, second.rejected), (5, 4, 1))
        second.verify()
        self.assertEqual(inflight.read_manifest(self.out), second)
        self.assertIsNone(Job.update(self.out, second.job, command=None, scratch=None)[0])
        crashed, _ = Job.update(self.out, None, command=None, scratch=None)
        self.part(crashed, 0, 0)
        self.assertEqual(inflight.vacuum(self.out, older_than=timedelta(days=1)), [])
        inflight.vacuum(self.out, older_than=timedelta(0))
        self.assertEqual(self.files(), {"manifest.json", "manifest-000002.json", *(file.path for file in second.files)})
        self.assertFalse((self.out / "_staging").exists())

    def test_a_dataset_of_an_earlier_version_cannot_be_updated(self):
        self.start("night").commit([])
        path = self.out / "manifest.json"
        values = json.loads(path.read_text())
        del values["columns"]
        path.write_text(json.dumps(values))
        with self.assertRaisesRegex(inflight.DatasetError, "did not support updates"):
            Job.update(self.out, None, command=None, scratch=None)

    def test_aborting_removes_the_job(self):
        job = self.start()
        self.part(job, 0, 0)
        job.abort()
        self.assertFalse(self.out.exists())

    def test_damaged_manifests_are_errors(self):
        self.out.mkdir()
        for text in ("", "{}", "[]", '{"version": 1, "files": [{}]}', "\0"):
            (self.out / "manifest.json").write_text(text)
            with self.assertRaisesRegex(inflight.DatasetError, "cannot be read"):
                inflight.read_manifest(self.out)
        for path in ("../x.tar", "/x.tar", "a//b", ""):
            (self.out / "manifest.json").write_text(
                json.dumps({"version": 1, "files": [{"path": path, "size": 1}]}))
            with self.assertRaisesRegex(inflight.DatasetError, "is not below the dataset's folder"):
                inflight.read_manifest(self.out)
        (self.out / "manifest.json").write_text('{"version": 2}')
        with self.assertRaisesRegex(inflight.DatasetError, "has version 2"):
            inflight.read_manifest(self.out)


if __name__ == "__main__":
    unittest.main()
