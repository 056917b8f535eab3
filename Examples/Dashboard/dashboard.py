#!/usr/bin/env python3
"""Passes the events of `inflight batch --json` on to Prometheus and to Weights & Biases.

    set -o pipefail
    inflight batch rows.csv -o out --format jpeg --json | dashboard.py --prometheus :9469 --wandb my-project

Prometheus reads http://HOST:9469/metrics while the run lasts, and `--linger` seconds longer, so that it sees the end.
Weights & Biases needs its Python package (`pip install wandb`) and its login. Each event is printed once it is passed on.
A fault of a service never ends the run: it is reported once on standard error.
"""

import argparse
import http.server
import json
import sys
import threading
import time

# The members of `progress` by the name of their metric: kind and description.
METRICS = {
    "inflight_rows_total": ("rows", "counter", "Rows that have ended, those of earlier runs included."),
    "inflight_images_total": ("images", "counter", "Rows with an image of their own."),
    "inflight_duplicates_total": ("duplicates", "counter", "Rows with the image of another row."),
    "inflight_received_bytes_total": ("receivedBytes", "counter", "Bytes of received bodies."),
    "inflight_image_bytes_total": ("imageBytes", "counter", "Bytes of written images."),
    "inflight_images_per_second": ("imagesPerSecond", "gauge", "Images per second, lately."),
    "inflight_requests": ("running", "gauge", "Running requests."),
    "inflight_rows_read": ("rowsRead", "gauge", "Rows of the input that were read."),
    "inflight_rows_expected": ("rowCount", "gauge", "Rows of the input, an estimate until its end was read."),
    "inflight_staged_bytes": ("stagedBytes", "gauge", "Bytes of images that wait for their shard."),
}


class State:
    """What the events so far say."""

    def __init__(self):
        self.progress, self.shards, self.handovers, self.warnings, self.status = {}, 0, 0, 0, None
        self.lock = threading.Lock()

    def add(self, event):
        with self.lock:
            kind = event["event"]
            if kind == "progress":
                self.progress = {"rowCount": event.get("estimatedRowCount"), **event}
            elif kind == "shard":
                self.shards += 1
            elif kind == "handover":
                self.handovers += 1
            elif kind == "warning":
                self.warnings += 1
            elif kind == "end":
                self.status = event["exitStatus"]

    def text(self):
        """The metrics in the text format of Prometheus, version 0.0.4."""
        with self.lock:
            lines = []

            def add(name, kind, help, values):
                if values:
                    lines.extend([f"# HELP {name} {help}", f"# TYPE {name} {kind}"])
                    lines.extend(f"{name}{labels} {value}" for labels, value in values)

            for name, (member, kind, help) in METRICS.items():
                value = self.progress.get(member)
                add(name, kind, help, [] if value is None else [("", value)])
            classes = self.progress.get("classes", {})
            add("inflight_failures_total", "counter", "Failed rows by class.",
                [(f'{{class="{name}"}}', count) for name, count in sorted(classes.items())])
            add("inflight_shards_total", "counter", "Shards that this run has finished.", [("", self.shards)])
            add("inflight_handovers_total", "counter", "Shards that --then has taken.", [("", self.handovers)])
            add("inflight_warnings_total", "counter", "Warnings.", [("", self.warnings)])
            add("inflight_exit_status", "gauge", "The exit status, once the run has ended.",
                [] if self.status is None else [("", self.status)])
            return "\n".join(lines) + "\n"


def serve(address, state):
    """Serves the metrics on a thread that ends with the program. Returns the server."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_metrics = self.path.partition("?")[0] == "/metrics"
            body = state.text().encode() if is_metrics else b"See /metrics.\n"
            self.send_response(200 if is_metrics else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    host, _, port = address.rpartition(":")
    server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Tracker:
    """A run of Weights & Biases."""

    def __init__(self, project, name):
        import wandb

        self.run = wandb.init(project=project, name=name, job_type="download")

    def add(self, event):
        kind = event["event"]
        if kind == "progress":
            classes = event.get("classes", {})
            values = {member: event[member] for member, _, _ in METRICS.values() if member in event}
            self.run.log(values | {f"failures/{name}": count for name, count in classes.items()})
        elif kind == "warning":
            self.run.alert(title="inflight batch", text=event["message"])
        elif kind == "end":
            totals = ("rows", "images", "duplicates", "failures", "outcome")
            self.run.summary.update({name: event[name] for name in totals if name in event})
            self.run.finish(exit_code=event["exitStatus"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--prometheus", metavar="HOST:PORT", help="serve metrics, such as 127.0.0.1:9469; port 0: any")
    parser.add_argument("--linger", metavar="S", type=float, default=0, help="serve S seconds longer than the run")
    parser.add_argument("--wandb", metavar="PROJECT", help="log to this project of Weights & Biases")
    parser.add_argument("--name", help="the name of the run there")
    options = parser.parse_args()
    state = State()
    sinks = [state.add]
    if options.prometheus:
        server = serve(options.prometheus, state)
        print(f"dashboard: metrics at http://{server.server_name}:{server.server_port}/metrics", file=sys.stderr,
              flush=True)
    if options.wandb:
        sinks.append(Tracker(options.wandb, options.name).add)
    for line in sys.stdin:
        for sink in [*sinks]:
            try:
                sink(json.loads(line))
            except Exception as error:
                sinks.remove(sink)
                print(f"dashboard: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        print(line, end="", flush=True)
    if options.prometheus:
        time.sleep(options.linger)


if __name__ == "__main__":
    main()
