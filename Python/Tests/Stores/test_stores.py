"""Datasets in object stores: published whole, once, by one job, whatever the store does."""

import os
import unittest

import fsspec
import inflight
import s3fs
from contract import Contract
from inflight.manifest import Job
from stores import DROP, GCS, LOSE, S3, error

# Requests that the client repeats are repeated once.
s3fs.S3FileSystem.retries = 2


class OnS3(Contract, unittest.TestCase):
    scheme = "s3"

    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(S3())
        cls.store.make_bucket()

    def only(self, operations, answer, key=""):
        """Fails these operations on keys that contain `key`."""
        self.store.fault = lambda request: (
            answer if request.operation in operations and key in request.key else None)

    def uploads(self):
        fs = s3fs.S3FileSystem(**self.store.options)
        return [upload["Key"] for upload in fs.list_multipart_uploads("bucket")]

    def test_each_upload_has_a_checksum_and_the_manifest_a_condition(self):
        job = self.start()
        job.commit([self.part(job, 0, 0, bytes(17 << 20)), self.part(job, 1, 0)])
        bodies = [request for request in self.store.requests if request.operation in ("Put", "UploadPart")]
        for request in bodies:
            self.assertTrue([name for name in request.headers if name.lower().startswith("x-amz-checksum-")])
        self.assertEqual({request.key.rpartition("/")[2] for request in bodies
                          if request.headers.get("If-None-Match") == "*"}, {"open", "manifest-000001.json"})

    def test_a_store_that_ignores_conditions_is_refused_and_left_as_it_was(self):
        original = self.store.perform

        def perform(method, path, headers, body):
            return original(method, path, {k: v for k, v in headers.items() if k != "If-None-Match"}, body)

        self.store.perform = perform
        self.addCleanup(delattr, self.store, "perform")
        with self.fails("ignores the condition of a write"):
            self.start()
        self.assertEqual(self.keys(), set())
        job = self.start(unsafe_single_driver=True)
        self.check_is_whole(job.commit([self.part(job, 0, 0)]))

    def test_a_store_that_does_not_know_conditions_is_refused(self):
        self.only(["Put"], error(501, "NotImplemented", "A header you provided implies functionality"))
        with self.fails("could not be written: .*A header you provided"):
            self.start()

    def test_a_store_whose_answer_does_not_tell_what_a_condition_does_is_refused(self):
        seen = []

        def fault(request):
            if request.operation == "Put":
                seen.append(request)
                return error(500, "InternalError", "no idea") if len(seen) > 1 else None
            return None

        self.store.fault = fault
        with self.fails("could not be checked for conditional writes: .*no idea"):
            self.start()

    def test_errors_that_repeat_credentials_are_shown_without_them(self):
        self.only(["List"], error(403, "SignatureDoesNotMatch", "of a-secret-key at http://u:pass@host/?X-Sig=query"))
        with self.fails("SignatureDoesNotMatch") as caught:
            self.start()
        self.assertRegex(str(caught.exception), "of … at http://…@host/…")

    def test_bad_access_is_an_error_before_anything_runs(self):
        for code, status in (("InvalidAccessKeyId", 403), ("SignatureDoesNotMatch", 403), ("AccessDenied", 403),
                             ("NoSuchBucket", 404), ("RequestTimeTooSkewed", 403)):
            for operations in (["List", "Put", "Get", "Head"], ["Put", "Get"]):
                self.only(operations, error(status, code, f"It is {code}."))
                with self.fails(f"(could not be (listed|written)|unknown whether).*It is {code}") as caught:
                    self.start()
                self.assertNotIn("secret", str(caught.exception))
        self.store.fault = lambda _: None
        self.assertEqual(self.keys(), set())
        self.out = "s3://no-such-bucket/data"
        with self.fails("The specified bucket does not exist"):
            self.start()

    def test_missing_credentials_are_an_error(self):
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE")
        saved = {name: os.environ.pop(name) for name in names if name in os.environ}
        self.addCleanup(os.environ.update, saved)
        os.environ |= {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(self.folder)}
        options = {name: value for name, value in self.store.options.items() if name not in ("key", "secret")}
        with self.fails("redentials"):
            self.start(storage_options=options)

    def test_uploads_that_fail_are_aborted(self):
        job = self.start()
        self.only(["UploadPart"], error(403, "AccessDenied", "no writing"))
        with self.fails("could not be written: .*no writing"):
            self.part(job, 0, 0, bytes(17 << 20))
        self.assertEqual(self.uploads(), [])

    def test_uploads_that_cannot_be_aborted_are_errors_with_both_reasons_and_are_swept_later(self):
        job = self.start()
        other = self.start_elsewhere()

        def fault(request):
            is_last = request.operation in ("Complete", "Abort")
            return error(403, "AccessDenied", f"no {request.operation}") if is_last else None

        self.store.fault = fault
        with self.fails("no Abort.*no Complete"):
            self.part(job, 0, 0, bytes(17 << 20))
        self.store.fault = lambda _: None
        self.assertEqual(len(self.uploads()), 2)
        self.check_is_whole(job.commit([self.part(job, 0, 1)]))
        self.assertEqual(self.uploads(), [other])

    def start_elsewhere(self):
        """Starts a multipart upload of someone else. Returns its key."""
        fs = s3fs.S3FileSystem(**self.store.options)
        key = f"{self.id().rpartition('.')[2]}/shards-another-run/part"
        upload = fs.call_s3("create_multipart_upload", Bucket="bucket", Key=key)
        self.addCleanup(fs.abort_mpu, "bucket", key, upload["UploadId"])
        return key

    def test_a_store_that_is_busy_for_a_moment_is_asked_again(self):
        job = self.start()
        seen = set()

        def fault(request):
            if request.operation in ("Put", "Complete", "List") and (request.operation, request.key) not in seen:
                seen.add((request.operation, request.key))
                return error(503, "SlowDown", "Please reduce your request rate.")
            return None

        self.store.fault = fault
        self.check_is_whole(job.commit([self.part(job, 0, 0), self.part(job, 1, 0, bytes(17 << 20))]))

    def test_a_store_that_stays_busy_is_an_error_and_nothing_is_published(self):
        job = self.start()
        part = self.part(job, 0, 0)
        self.only(["Put"], error(503, "SlowDown", "Please reduce your request rate."))
        with self.fails("could not be written: .*reduce your request rate"):
            self.part(job, 1, 0)
        with self.fails("manifest-000001.json' could not be written: .*reduce your request rate"):
            job.commit([part])
        self.store.fault = lambda _: None
        with self.fails("has no manifest"):
            self.read()

    def test_an_upload_that_is_lost_half_way_is_repeated(self):
        job, drops = self.start(), []

        def fault(request):
            if request.operation == "UploadPart" and request.query["partNumber"] == "2" and not drops:
                drops.append(request)
                return DROP
            return None

        self.store.fault = fault
        self.check_is_whole(job.commit([self.part(job, 0, 0, os.urandom(17 << 20))]))
        self.assertEqual(len(drops), 1)

    def test_an_upload_that_the_store_acknowledges_and_loses_is_an_error(self):
        job = self.start()
        self.only(["Put"], (200, {"ETag": '"x"'}, b""), key=".tar")
        with self.fails("00000.tar' could not be written: FileNotFoundError"):
            self.part(job, 0, 0)

    def test_an_upload_that_the_store_cuts_is_an_error(self):
        job = self.start()
        original = self.store.perform

        def perform(method, path, headers, body):
            return original(method, path, headers, body[:-1] if path.endswith(".tar") else body)

        self.store.perform = perform
        self.addCleanup(delattr, self.store, "perform")
        with self.fails("has 2 instead of 3 bytes after its upload"):
            self.part(job, 0, 0)

    def test_an_error_in_the_body_of_a_status_200_is_an_error(self):
        job = self.start()
        failure = error(200, "InternalError", "We encountered an internal error.")
        for operation, size in (("Put", 3), ("Complete", 17 << 20)):
            self.only([operation], failure, key=".tar")
            with self.fails("could not be written"):
                self.part(job, 0, 0, bytes(size))
        self.only(["Put"], failure, key="manifest")
        with self.fails("could not be written"):
            job.commit([])
        self.store.fault = lambda _: None
        self.assertNotIn("manifest-000001.json", self.keys())

    def test_a_token_that_expires_during_the_job_is_an_error_and_nothing_is_published(self):
        job = self.start("night")
        part = self.part(job, 0, 0)
        self.store.fault = lambda _: error(400, "ExpiredToken", "The provided token has expired.")
        for call in (lambda: self.part(job, 1, 0), lambda: job.commit([part])):
            with self.fails("The provided token has expired"):
                call()
        job.abort()
        self.store.fault = lambda _: None
        with self.fails("has no manifest"):
            self.read()
        again = self.start("night")
        manifest = again.commit([self.part(again, 0, 0)])
        self.assertEqual(self.read(), manifest)

    def test_an_answer_that_is_lost_is_decided_by_reading(self):
        job, seen = self.start(), []
        part = self.part(job, 0, 0)

        def fault(request):
            if request.operation == "Put" and "manifest" in request.key:
                seen.append(request)
                return LOSE if len(seen) == 1 else None
            return None

        self.store.fault = fault
        # The client repeats the write, which is refused because it has taken effect.
        self.check_is_whole(job.commit([part]))
        self.assertEqual(len(seen), 2)

    def test_a_conflict_is_decided_by_reading(self):
        job, seen = self.start(), []
        part = self.part(job, 0, 0)

        def fault(request):
            if request.operation == "Put" and "manifest" in request.key:
                seen.append(request)
                return error(409, "ConditionalRequestConflict", "conflict") if len(seen) == 1 else None
            return None

        self.store.fault = fault
        self.check_is_whole(job.commit([part]))

    def test_a_write_that_takes_effect_after_its_driver_has_given_up_is_whole(self):
        job, late = self.start(), []
        part = self.part(job, 0, 0)

        def fault(request):
            if "manifest" in request.key:
                if request.operation == "Put":
                    late.append(request)
                    return DROP
                return error(503, "ServiceUnavailable", "Try later.")
            return None

        self.store.fault = fault
        with self.fails("It is unknown whether .*manifest-000001.json' was written"):
            job.commit([part])
        self.store.fault = lambda _: None
        job.abort()
        with self.fails("has no manifest"):
            self.read()
        self.store.perform("PUT", f"/bucket/{late[0].key}", late[0].headers, late[0].body)
        manifest = self.read()
        self.assertEqual(manifest.run, job.run)
        self.check_is_whole(manifest)

    def test_a_sweep_that_is_not_permitted_leaves_the_dataset_published(self):
        job = self.start()
        self.part(job, 0, 0)
        part = self.part(job, 0, 1)
        self.only(["ListUploads"], error(403, "AccessDenied"))
        self.check_is_whole(job.commit([part]))

    def test_a_hundred_thousand_objects_are_listed_and_removed(self):
        job, removed = self.start(), []
        prefix = f"{self.id().rpartition('.')[2]}/shards-{job.run}/"
        keys = [f"{prefix}part-00001-attempt-0/{n:06}.tar" for n in range(100_000)]

        def fault(request):
            if request.operation == "List" and request.query.get("prefix") == prefix:
                return listing(request, keys)
            if request.operation == "DeleteObjects":
                removed.append(request.body.count(b"<Key>"))
                return 200, {"Content-Type": "application/xml"}, b"<DeleteResult></DeleteResult>"
            return None

        self.store.fault = fault
        job.abort()
        self.assertEqual(removed, [1000] * 100)

    def test_a_manifest_that_is_damaged_or_names_other_objects_is_an_error(self):
        fs, root = fsspec.core.url_to_fs(self.out, **self.store.options)
        for text, message in ((b"", "cannot be read"), (b'{"version": 2}', "has version 2"),
                              (b'{"version": 1, "files": [{"path": "../x.tar", "size": 1}]}', "is not below")):
            fs.pipe_file(f"{root}/manifest-000001.json", text)
            for call in (self.read, self.start):
                with self.fails(message):
                    call()

    def test_readers_take_the_highest_manifest(self):
        job = self.start()
        first = job.commit([self.part(job, 0, 0)])
        fs, root = fsspec.core.url_to_fs(self.out, **self.store.options)
        text = fs.cat_file(f"{root}/manifest-000001.json")
        for number, run in ((2, "second"), (10, "tenth"), (1_000_000, "last")):
            fs.pipe_file(f"{root}/manifest-{number:06}.json", text.replace(first.run.encode(), run.encode()))
            self.assertEqual(self.read().run, run)


def listing(request, keys):
    """A page of a thousand keys."""
    start = int(request.query.get("continuation-token", 0))
    page, rest = keys[start : start + 1000], start + 1000 < len(keys)
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{start + 1000}</NextContinuationToken>"
    contents = "".join(
        f"<Contents><Key>{key}</Key><ETag>x</ETag><Size>3</Size>"
        "</Contents>" for key in page)
    body = f'<?xml version="1.0"?><ListBucketResult>{more if rest else ""}{contents}</ListBucketResult>'
    return 200, {"Content-Type": "application/xml"}, body.encode()


class OnGCS(Contract, unittest.TestCase):
    scheme = "gs"

    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(GCS())

    def test_each_shard_has_a_checksum(self):
        job = self.start()
        self.store.fault = lambda request: None
        original = self.store.perform

        def perform(*arguments):
            status, headers, content = original(*arguments)
            return status, headers, content.replace(b'"md5Hash": "', b'"md5Hash": "AAAA')

        self.store.perform = perform
        self.addCleanup(delattr, self.store, "perform")
        for size in (3, 17 << 20):
            with self.fails("could not be written: .*hecksum"):
                self.part(job, 0, 0, bytes(size))


class OnHDFS(unittest.TestCase):
    """fsspec's file system in memory stands in for HDFS, which needs a cluster."""

    def test_a_store_without_exclusive_writes_takes_one_driver(self):
        from fsspec.implementations.memory import MemoryFileSystem

        class HDFS(MemoryFileSystem):
            protocol = "hdfs"

            @classmethod
            def _strip_protocol(cls, path):
                return super()._strip_protocol(path.removeprefix("hdfs:/"))

        fsspec.register_implementation("hdfs", HDFS, clobber=True)
        values = {"options": {}, "url": "url", "id": None, "caption": None, "command": None, "scratch": None}
        with self.assertRaisesRegex(inflight.DatasetError, "cannot create a file exclusively"):
            Job.start("hdfs://node/data", None, "webdataset", **values)
        job = Job.start("hdfs://node/data", None, "webdataset", unsafe_single_driver=True, **values)
        published = job.commit([])
        self.assertEqual(inflight.read_manifest("hdfs://node/data"), published)


if __name__ == "__main__":
    unittest.main()
