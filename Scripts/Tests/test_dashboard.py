"""The example `Examples/Dashboard`, which passes the events of a run on, with the built command.

`make test` sets INFLIGHT to the path of the command. Without it, the part with the command is skipped.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "Report"))
from server import Server  # noqa: E402

DASHBOARD = ROOT / "Examples" / "Dashboard" / "dashboard.py"
INFLIGHT = os.environ.get("INFLIGHT")
# A stand-in for the package of Weights & Biases, which prints its calls.
WANDB = """
import json, sys
def note(call, /, **values): print("wandb", call, json.dumps(values, sort_keys=True), file=sys.stderr, flush=True)
class Run:
    summary = type("Summary", (), {"update": lambda self, values: note("summary", **values)})()
    def log(self, values): note("log", **values)
    def alert(self, **values): note("alert", **values)
    def finish(self, **values): note("finish", **values)
def init(**values):
    note("init", **values)
    return Run()
"""
EVENTS = [
    {"event": "start", "resumedRows": 0, "finishedShards": 0},
    {"event": "progress", "rows": 30, "images": 20, "duplicates": 3, "failures": 7, "receivedBytes": 4000,
     "imageBytes": 2000, "imagesPerSecond": 12.5, "running": 8, "rowsRead": 50, "estimatedRowCount": 90,
     "stagedBytes": 100, "classes": {"http_404": 6, "timedOut": 1}},
    {"event": "shard", "shard": 0, "rows": 10, "images": 9, "bytes": 900},
    {"event": "handover", "shard": 0},
    {"event": "warning", "message": "Something is odd."},
    {"event": "end", "outcome": "finished", "exitStatus": 0, "rows": 90, "images": 70, "duplicates": 3, "failures": 17},
]


class Dashboard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "wandb.py").write_text(WANDB)

    def start(self, *arguments):
        process = subprocess.Popen(
            [sys.executable, DASHBOARD, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def send(self, process, line):
        """Returns once the line was passed on."""
        process.stdin.write(line.rstrip("\n") + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), line.rstrip("\n") + "\n")

    def address(self, process):
        return re.search(r"http://\S+", process.stderr.readline())[0]

    def metrics(self, address):
        with urllib.request.urlopen(address, timeout=60) as response:
            self.assertEqual(response.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            text = response.read().decode()
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{class=\"[^\"\\]+\"\})? -?\d+(\.\d+)?)$")
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def test_metrics_follow_the_events(self):
        process = self.start("--prometheus", "127.0.0.1:0")
        address = self.address(process)
        self.assertNotIn("inflight_rows_total", self.metrics(address))
        for event in EVENTS[:2]:
            self.send(process, json.dumps(event))
        found = self.metrics(address)
        self.assertEqual(
            {name: found[name] for name in ("inflight_rows_total", "inflight_rows_expected", "inflight_shards_total",
                                            'inflight_failures_total{class="http_404"}', "inflight_images_per_second")},
            {"inflight_rows_total": "30", "inflight_rows_expected": "90", "inflight_shards_total": "0",
             'inflight_failures_total{class="http_404"}': "6", "inflight_images_per_second": "12.5"})
        self.assertNotIn("inflight_exit_status", found)
        for event in EVENTS[2:]:
            self.send(process, json.dumps(event))
        found = self.metrics(address)
        self.assertEqual([found[f"inflight_{name}"] for name in
                          ("shards_total", "handovers_total", "warnings_total", "exit_status")], ["1", "1", "1", "0"])
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_events_are_logged_to_weights_and_biases(self):
        process = self.start("--wandb", "crawl", "--name", "first")
        for event in EVENTS:
            self.send(process, json.dumps(event))
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        calls = [line.split(" ", 2)[1:] for line in process.stderr.read().splitlines()]
        self.assertEqual([name for name, _ in calls], ["init", "log", "alert", "summary", "finish"])
        values = {name: json.loads(text) for name, text in calls}
        self.assertEqual(values["init"], {"project": "crawl", "name": "first", "job_type": "download"})
        self.assertEqual((values["log"]["images"], values["log"]["failures/timedOut"]), (20, 1))
        self.assertEqual((values["summary"]["images"], values["finish"]), (70, {"exit_code": 0}))

    def test_a_fault_of_a_service_or_an_event_does_not_end_the_run(self):
        process = self.start("--wandb", "crawl")
        self.send(process, "nonsense")
        self.send(process, json.dumps(EVENTS[1]))
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        self.assertIn("dashboard: JSONDecodeError", process.stderr.read())

    @unittest.skipUnless(INFLIGHT, "no built command: run `make test`")
    def test_the_events_of_a_run_have_the_metrics(self):
        with Server() as server:
            rows = [f"{server.url}/{name}" for name in
                    [*(f"picture-{number}.png" for number in range(6)), "none", "picture-1.png"]]
            (self.folder / "rows.txt").write_text("\n".join(rows))
            run = subprocess.run(
                [INFLIGHT, "batch", "rows.txt", "-o", "out", "--format", "png", "--shard-size", "4", "--json",
                 "--allow-private", "--ignore-robots"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        process = self.start("--prometheus", "127.0.0.1:0")
        address = self.address(process)
        for line in run.stdout.splitlines():
            self.send(process, line)
        found = self.metrics(address)
        expected = {"inflight_rows_total": "8", "inflight_images_total": "6", "inflight_duplicates_total": "1",
                    'inflight_failures_total{class="http_404"}': "1", "inflight_rows_expected": "8",
                    "inflight_shards_total": "2", "inflight_exit_status": "0", "inflight_requests": "0"}
        self.assertEqual({name: found.get(name) for name in expected}, expected)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
