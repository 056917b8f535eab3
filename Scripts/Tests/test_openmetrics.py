"""The OpenMetrics text of a pipeline, read by `prometheus_client`, the Python client of Prometheus.

A test of `InflightCoreTests` makes sure that a pipeline writes the text of `pipeline.openmetrics`. `make test-python`
installs the client. Without it, the test that needs it is skipped.
"""

import math
import pathlib
import re
import unittest

try:
    from prometheus_client.openmetrics import parser
except ImportError:
    parser = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "Scripts" / "Tests" / "pipeline.openmetrics").read_text(encoding="utf-8")


class OpenMetrics(unittest.TestCase):
    @unittest.skipIf(parser is None, "the Python package prometheus_client is missing")
    def test_prometheus_client_reads_the_text(self):
        families = {family.name: family for family in parser.text_string_to_metric_families(TEXT)}
        self.assertEqual(set(families), set(re.findall("^# TYPE (\\S+)", TEXT, re.MULTILINE)))
        values = {}
        for family in families.values():
            self.assertIn(family.type, {"counter", "gauge", "histogram"})
            self.assertTrue(family.documentation)
            for sample in family.samples:
                self.assertEqual(sample.labels.pop("pipeline"), 'a "b" \\c\nd é')
                self.assertEqual(sample.labels.pop("host"), "")
                values[sample.name, *sample.labels.values()] = sample.value
        self.assertEqual(values["inflight_successes_total", "shared"], 2)
        self.assertEqual(values["inflight_successes_total", "disk"], 0)
        self.assertEqual(values["inflight_failures_total", "badStatus"], 1)
        self.assertEqual(values["inflight_wire_bytes_total",], 3000)
        self.assertEqual(families["inflight_wire_bytes"].unit, "bytes")

        fetch = families["inflight_fetch_time_seconds"]
        self.assertEqual((fetch.type, fetch.unit), ("histogram", "seconds"))
        bounds = [float(each.labels["le"]) for each in fetch.samples if each.name.endswith("_bucket")]
        self.assertEqual((bounds[0], bounds[-1]), (0.0001, math.inf))
        self.assertEqual(values["inflight_fetch_time_seconds_bucket", "0.025"], 1)
        self.assertEqual(values["inflight_fetch_time_seconds_bucket", "0.05"], 2)
        self.assertEqual(values["inflight_fetch_time_seconds_count",], 2)
        self.assertEqual(values["inflight_fetch_time_seconds_sum",], 0.04)

    def test_the_documentation_lists_every_family(self):
        page = (ROOT / "Documentation" / "Telemetry.md").read_text(encoding="utf-8")
        section = page.split("\n## Prometheus\n")[1].split("\n## ")[0]
        rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
        listed = [name for row in rows for name in re.findall("`(\\w+)`", row)]
        self.assertEqual(listed, re.findall("^# TYPE inflight_(\\S+)", TEXT, re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
