"""The stream client beside a scripted process: back-pressure, crashes, and answers that no command should give."""

import importlib.util
import json
import os
import pathlib
import pickle
import tempfile
import threading
import unittest
from unittest import mock

import inflight

STANDIN = str(pathlib.Path(__file__).with_name("standin.py"))


class Stream(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"
        self.behave()

    def behave(self, **behavior):
        patch = mock.patch.dict(os.environ, STANDIN=json.dumps(behavior), STANDIN_LOG=str(self.log), INFLIGHT=STANDIN)
        patch.start()
        self.addCleanup(patch.stop)

    def starts(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def fails(self, kind, rows=("a",), **options):
        with self.assertRaises(kind) as caught:
            list(inflight.fetch(rows, **options))
        return str(caught.exception)

    def test_each_row_has_one_result(self):
        rows = ["https://a/1", {"url": "https://a/2", "id": "two", "more": 1}, {"url": "https://a/2", "id": 3}]
        results = list(inflight.fetch(rows, size="8x8", per_host=2, allow_private=True, ignore_robots=False))
        self.assertEqual([(result.url, result.id) for result in results],
                         [("https://a/1", None), ("https://a/2", "two"), ("https://a/2", "3")])
        self.assertEqual([result.input for result in results], rows)
        self.assertEqual(results[0].image, b"https://a/1")
        self.assertEqual(results[0].status, "success")
        self.assertEqual((results[0].width, results[0].original_height, results[0].error), (4, 6, None))
        self.assertEqual(self.starts(), [
            ["batch", "--stream", "--binary", "--size", "8x8", "--per-host", "2", "--allow-private"]])

    def test_no_rows_are_no_results(self):
        self.assertEqual(list(inflight.fetch([])), [])

    def test_answers_in_any_order_find_their_rows(self):
        self.behave(reverses=7)
        results = list(inflight.fetch({"url": f"u{n}", "id": n} for n in range(105)))
        self.assertEqual(len(results), 105)
        self.assertEqual({result.url for result in results if result.image == f"u{result.id}".encode()},
                         {f"u{n}" for n in range(105)})

    def test_rows_and_images_larger_than_all_pipes_do_not_block(self):
        self.behave(image_bytes=300_000)
        rows = ["u" * 50_000 + str(n) for n in range(100)]
        self.assertEqual({result.url for result in inflight.fetch(rows)}, set(rows))

    def test_rows_are_read_at_most_a_window_ahead(self):
        read = []
        results = inflight.fetch((read.append(n) or f"u{n}" for n in range(1000)), window=10)
        for count, _ in enumerate(results, start=1):
            self.assertLessEqual(len(read), count + 10)
        self.assertEqual(len(read), 1000)

    def test_a_result_does_not_wait_for_the_next_row(self):
        answered = threading.Event()

        def rows():
            yield "first"
            self.assertTrue(answered.wait(60))
            yield "second"

        seen = []
        for result in inflight.fetch(rows()):
            seen.append(result.url)
            answered.set()
        self.assertEqual(seen, ["first", "second"])

    def test_null_and_other_urls_are_rejected_rows(self):
        results = {result.id: result for result in inflight.fetch(
            [{"id": "null", "url": None}, {"id": "number", "url": 7}, {"id": "text", "url": "u"}])}
        self.assertEqual([results[id].status for id in ("null", "number", "text")], ["rejected", "rejected", "success"])
        self.assertEqual((results["null"].error, results["number"].url, results["number"].input["url"]),
                         ("No URL.", None, 7))

    def test_null_in_a_list_of_urls_is_a_rejected_row(self):
        results = list(inflight.fetch([None, "u", float("nan")]))
        self.assertEqual(sorted((result.status, result.url) for result in results if result.url), [("success", "u")])
        self.assertEqual(sum(result.status == "rejected" for result in results), 2)

    def test_other_rows_are_errors_that_name_them(self):
        for row, kind in ((7, "int"), (("a", "u"), "tuple"), (b"u", "bytes")):
            self.assertIn(f"neither a URL nor a mapping with 'url', but {kind}: ", self.fails(inflight.ColumnError, [row]))

    def test_one_row_in_place_of_rows_is_an_error_at_once(self):
        for rows, kind in (("http://a/1", "str"), (b"http://a/1", "bytes"), ({"url": "http://a/1"}, "dict")):
            with self.assertRaisesRegex(TypeError, rf"are one {kind}\. Pass a list, even for one row: fetch\(\[row\]\)"):
                inflight.fetch(rows)
            with inflight.Client() as client, self.assertRaisesRegex(TypeError, f"are one {kind}"):
                client.fetch(rows)

    def test_a_table_is_an_error_that_names_its_rows(self):
        for library, attribute, remedy in (("pandas", "columns", r"df\.to_dict\('records'\)"),
                                           ("polars", "columns", r"df\.iter_rows\(named=True\)"),
                                           ("pyarrow", "column_names", r"table\.to_pylist\(\)"),
                                           ("pyspark", "columns", r"inflight\.spark\.fetch\(df\)"),
                                           ("other", "columns", "an iterable of mappings with 'url'")):
            kind = type("Frame", (list,), {attribute: ["url"], "__module__": f"{library}.core"})
            with self.assertRaisesRegex(TypeError, rf"a table \({library}\.core\.Frame\).* Pass {remedy}\."):
                inflight.fetch(kind(["url"]))

    def test_a_dataset_of_hugging_face_iterates_over_its_rows(self):
        kind = type("IterableDataset", (list,), {"column_names": ["url"], "__module__": "datasets.iterable_dataset"})
        self.assertEqual([result.url for result in inflight.fetch(kind([{"url": "u"}]))], ["u"])

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "needs pandas")
    def test_a_data_frame_is_an_error_and_its_column_and_rows_are_not(self):
        import pandas as pd

        frame = pd.DataFrame({"url": ["u1", None], "id": [1, 2]})
        with self.assertRaisesRegex(TypeError, "a table"):
            inflight.fetch(frame)
        for rows in (frame["url"], frame.to_dict("records")):
            self.assertEqual({(result.url, result.status) for result in inflight.fetch(rows)},
                             {("u1", "success"), (None, "rejected")})

    def test_a_row_without_a_url_is_an_error(self):
        self.assertIn("no member 'url'", self.fails(inflight.ColumnError, [{"link": "u"}]))

    def test_a_process_that_dies_is_restarted_and_asked_for_the_other_rows(self):
        self.behave(dies_after=30)
        results = list(inflight.fetch((f"u{n}" for n in range(200)), window=20))
        self.assertEqual(sorted(result.url for result in results), sorted(f"u{n}" for n in range(200)))
        self.assertGreaterEqual(len(self.starts()), 7)

    def test_unanswered_rows_are_asked_again_while_the_next_row_is_awaited(self):
        self.behave(dies_after=1)
        answered = threading.Semaphore(0)

        def rows():
            yield from ("a", "b", "c")
            for _ in range(3):
                self.assertTrue(answered.acquire(timeout=60))

        for _ in inflight.fetch(rows()):
            answered.release()

    def test_a_row_that_kills_each_process_ends_with_its_standard_error(self):
        self.behave(dies_at=["poison"])
        seen = []
        with self.assertRaises(inflight.CommandFailed) as caught:
            for result in inflight.fetch(["a", "poison", "b"], restarts=2):
                seen.append(result.url)
        self.assertEqual((caught.exception.status, caught.exception.stderr), (3, "error: killed by a row"))
        self.assertEqual((seen, len(self.starts())), (["a"], 3))

    def test_a_process_that_dies_at_every_start_ends_with_its_standard_error(self):
        self.behave(dies_at_start=70)
        self.assertIn("ended with status 70:\nerror: cannot start here", self.fails(inflight.CommandFailed))
        self.assertEqual(len(self.starts()), 4)

    def test_a_usage_error_is_not_tried_again(self):
        self.behave(dies_at_start=64)
        self.fails(inflight.CommandFailed)
        self.assertEqual(len(self.starts()), 1)

    def test_another_protocol_is_an_error(self):
        self.behave(hello='{"protocol":3,"version":"9.0.0"}')
        self.assertIn("(version 9.0.0) speaks protocol 3", self.fails(inflight.ProtocolError))
        self.behave(hello="Usage: inflight COMMAND")
        self.assertIn("not a JSON object: b'Usage: inflight", self.fails(inflight.ProtocolError))

    def test_garbage_in_place_of_an_answer_is_an_error(self):
        for garbage in ("garbage", "[1]", '{"id":"1","line":99,"status":"success"}', '{"id":"7","line":1,"status":"x"}',
                        "{}", '{"id":"1","line":1,"status":"success","size":"***"}'):
            with self.subTest(garbage):
                self.behave(says=garbage)
                self.fails(inflight.ProtocolError)

    def test_a_second_answer_is_an_error(self):
        self.behave(repeats=True)
        self.fails(inflight.ProtocolError, ["a", "b"])

    def test_an_early_end_with_status_0_is_an_error(self):
        self.behave(dies_after=0, status=0)
        self.assertIn("ended with status 0:\n", self.fails(inflight.CommandFailed))

    def test_a_missing_command_is_an_error_at_once(self):
        with self.assertRaisesRegex(inflight.CommandNotFound, "'/nowhere/inflight' was not found on"):
            inflight.fetch([], command="/nowhere/inflight")

    def test_an_error_of_the_rows_follows_the_results_before_it(self):
        def rows():
            yield from ("a", "b")
            raise ValueError("row 3")

        seen = []
        with self.assertRaisesRegex(ValueError, "row 3"):
            for result in inflight.fetch(rows()):
                seen.append(result.url)
        self.assertEqual(seen, ["a", "b"])

    def test_a_client_has_one_process_for_all_calls(self):
        with inflight.Client() as client:
            for _ in range(3):
                self.assertEqual(len(list(client.fetch(["a", "b"]))), 2)
            self.assertEqual(client.version, "0.1.0")
        self.assertEqual(len(self.starts()), 1)

    def test_answers_to_abandoned_rows_do_not_reach_the_next_call(self):
        with inflight.Client() as client:
            for result in client.fetch(f"old {n}" for n in range(1000)):
                break
            self.assertEqual([result.url for result in client.fetch(["new"])], ["new"])
        self.assertEqual(len(self.starts()), 2)

    def test_errors_survive_pickling(self):
        failed = pickle.loads(pickle.dumps(inflight.CommandFailed("x", -9, "end")))
        self.assertEqual((str(failed), failed.status, failed.stderr), ("x was killed by signal 9:\nend", -9, "end"))


if __name__ == "__main__":
    unittest.main()
