"""What holds for datasets in each object store."""

import dataclasses
import itertools
import os
import pathlib
import tempfile
import threading
from datetime import timedelta

import fsspec
import inflight
from inflight.manifest import Job, Part
from inflight.stores import DataFile


class Case:
    """What holds for each store."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store.requests.clear()
        self.store.fault = self.store.before = lambda _: None
        self.out = f"{self.scheme}://bucket/{self.id().rpartition('.')[2]}"

    def start(self, name=None, **values):
        values = {"options": {"format": "jpeg"}, "url": "url", "id": None, "caption": None, "command": None,
                  "scratch": None, "storage_options": self.store.options} | values
        return Job.start(self.out, name, "webdataset", **values)

    def part(self, job, number, attempt, content=b"xxx"):
        """Uploads a file, as an attempt of a task does."""
        name = f"part-{number:05}-attempt-{attempt}"
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "00000.tar").write_bytes(content)
        job.place.check_is_open(job.run)
        job.place.add(job.run, self.folder, f"{name}/00000.tar")
        return Part(number, name, [DataFile(f"{name}/00000.tar", len(content))], successes=2, rejected=1)

    def read(self):
        return inflight.read_manifest(self.out, self.store.options)

    def vacuum(self, older_than):
        return inflight.vacuum(self.out, older_than=older_than, storage_options=self.store.options)

    def keys(self):
        """The keys of the objects of this test, below its prefix."""
        fs, root = fsspec.core.url_to_fs(self.out, use_listings_cache=False, **self.store.options)
        return {path.removeprefix(f"{root}/") for path in fs.find(root)}

    def fails(self, message):
        return self.assertRaisesRegex(inflight.DatasetError, message)

    def check_is_whole(self, manifest):
        manifest.verify(self.store.options)
        self.assertEqual(self.read(), manifest)
        self.assertEqual(self.keys(), {"manifest-000001.json", *(file.path for file in manifest.files)})


class Contract(Case):
    def test_the_manifest_names_the_attempts_that_were_committed_and_no_other_object_remains(self):
        job = self.start()
        parts = [self.part(job, 1, 4), self.part(job, 0, 2), Part(3)]
        self.part(job, 0, 3)
        with self.fails("has no manifest"):
            self.read()
        manifest = job.commit(parts)
        self.assertEqual((manifest.rows, manifest.successes, manifest.rejected), (6, 4, 2))
        self.assertEqual(manifest.shards, [f"{self.out}/shards-{job.run}/part-00000-attempt-2/00000.tar",
                                           f"{self.out}/shards-{job.run}/part-00001-attempt-4/00000.tar"])
        self.check_is_whole(manifest)

    def test_of_two_drivers_one_wins_and_the_other_removes_its_own_objects_only(self):
        for names, at_once in itertools.product((("night", "night"), ("night", "day")), (True, False)):
            self.out += "x"
            self.race(names, at_once)

    def race(self, names, at_once):
        """Lets two drivers publish: at once, or one after the other."""
        first = self.start(names[0])
        second = Job(**vars(first) | {"name": names[1], "run": f"{names[1]}-2"})
        second.place.start(second.run)
        jobs = [(job, [self.part(job, 0, 0)]) for job in (first, second)]
        barrier, ended = threading.Barrier(2 if at_once else 1), {}

        def before(request):
            if request.method in ("PUT", "POST") and b'"version": 1' in request.body:
                barrier.wait(30)

        def commit(job, parts):
            try:
                ended[job.run] = job.commit(parts)
            except inflight.DatasetError as raised:
                ended[job.run] = raised

        self.store.before = before
        threads = [threading.Thread(target=commit, args=arguments) for arguments in jobs]
        for thread in threads:
            thread.start()
            if not at_once:
                thread.join()
        for thread in threads:
            thread.join()
        self.store.before = lambda _: None
        manifest = self.read()
        loser = ended[({first.run, second.run} - {manifest.run}).pop()]
        self.assertEqual(ended[manifest.run], manifest)
        if names[0] == names[1]:
            self.assertEqual(loser, manifest)
        else:
            self.assertRegex(str(loser), f"Another job, '{manifest.job}', has published")
        for job, _ in jobs:
            job.abort()
        self.check_is_whole(manifest)

    def test_a_restarted_driver_finds_the_manifest_or_starts_over(self):
        lost = self.start("night")
        self.part(lost, 0, 0)
        job = self.start("night")
        published = job.commit([self.part(job, 0, 0)])
        self.assertEqual(self.start("night"), published)
        with self.fails("already has the dataset of job 'night'"):
            self.start("day")
        # What another run has left is not this run's to remove.
        self.assertEqual({key.split("/")[0] for key in self.keys()},
                         {"manifest-000001.json", f"shards-{lost.run}", f"shards-{job.run}"})

    def test_other_contents_are_refused_and_left_alone(self):
        self.start("night")
        before = self.keys()
        for name in ("day", None, "night-2"):
            with self.fails("is not empty"):
                self.start(name)
        self.assertEqual(self.keys(), before)

    def test_aborting_removes_the_run_and_only_it(self):
        other, job = self.start("night"), self.start("night")
        kept = self.part(other, 0, 0)
        self.part(job, 0, 0)
        job.abort()
        self.assertEqual(self.keys(), {f"shards-{other.run}/open", f"shards-{other.run}/{kept.files[0].path}"})
        with self.fails("has been published or removed"):
            self.part(job, 0, 1)
        with self.fails("has been published or removed"):
            job.commit([])

    def test_lost_and_torn_objects_are_never_published(self):
        job = self.start()
        parts = [self.part(job, 0, 0)]
        path = f"shards-{job.run}/{parts[0].files[0].path}"
        job.place._fs.pipe_file(job.place._path(path), b"")
        with self.fails("has 0 instead of 3 bytes"):
            job.commit(parts)
        job.place._fs.rm_file(job.place._path(path))
        with self.fails(f"'{self.out}/{path}' is lost"):
            job.commit(parts)
        with self.fails("has no manifest"):
            self.read()

    def test_an_update_adds_shards_and_replaces_files_and_vacuum_removes_what_is_not_needed(self):
        crashed, job = self.start("night"), self.start("night")
        self.part(crashed, 0, 0)
        first = job.commit([self.part(job, 0, 0), self.part(job, 1, 0)])
        update, base = Job.update(self.out, None, self.store.options, command=None, scratch=None)
        self.assertEqual((base, update.options), (first, {"format": "jpeg"}))
        late, _ = Job.update(self.out, None, self.store.options, command=None, scratch=None)
        replaced = first.files[0].path
        part = dataclasses.replace(self.part(update, 0, 0), replaces=[replaced], successes=0, rejected=-1)
        second = update.commit([part, self.part(update, 1, 0)])
        self.assertEqual((second.rows, second.successes, second.rejected), (8, 6, 2))
        self.assertEqual([file.path for file in second.files][0], first.files[1].path)
        second.verify(self.store.options)
        self.assertEqual(self.read(), second)
        with self.fails("Another job, .* has published"):
            late.commit([self.part(late, 2, 0)])
        none, _ = Job.update(self.out, None, self.store.options, command=None, scratch=None)
        self.assertEqual(none.commit([Part(0)]), second)
        self.assertEqual(self.vacuum(timedelta(days=1)), [])
        removed = self.vacuum(timedelta(0))
        abandoned = {f"shards-{crashed.run}/open", f"shards-{crashed.run}/part-00000-attempt-0/00000.tar"}
        self.assertEqual(set(removed), abandoned | {replaced})
        second.verify(self.store.options)
        self.assertEqual(self.keys(), {"manifest-000001.json", "manifest-000002.json",
                                       *(file.path for file in second.files)})

    def test_a_large_file_is_uploaded_in_parts(self):
        job = self.start()
        content = os.urandom(17 << 20)
        manifest = job.commit([self.part(job, 0, 0, content)])
        with fsspec.open(manifest.shards[0], **self.store.options) as stream:
            self.assertEqual(stream.read(), content)
        self.assertLess(max(len(request.body) for request in self.store.requests), 9 << 20)
        self.check_is_whole(manifest)

    def test_credentials_are_in_no_object_and_no_text(self):
        job = self.start()
        manifest = job.commit([self.part(job, 0, 0)])
        fs, root = fsspec.core.url_to_fs(self.out, **self.store.options)
        written = "".join(fs.cat_file(f"{root}/{key}").decode() for key in self.keys()) + repr(job) + repr(manifest)
        for secret in ("a-secret-key", "an-access-key"):
            self.assertNotIn(secret, written)
