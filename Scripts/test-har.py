#!/usr/bin/env python3
"""Reads an archive of `inflight get --har` with the package `haralyzer`, which it installs into a temporary folder.

    INFLIGHT=COMMAND Scripts/test-har.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Report"))
from packages import environment  # noqa: E402
from server import Server  # noqa: E402
from test_har import archive  # noqa: E402

READER = """
import json, sys
from haralyzer import HarParser
parser = HarParser(json.load(sys.stdin))
page = parser.pages[0]
print(json.dumps({
    "version": parser.version,
    "creator": parser.creator["name"],
    "statuses": sorted(entry.status for entry in page.entries),
    "start": min(entry.startTime for entry in page.entries).isoformat(),
    "types": sorted({entry.response.mimeType for entry in page.filter_entries(status_code="200")}),
    "images": len(page.image_files),
    "bytes": page.image_size,
    "time": round(sum(entry.time for entry in page.entries), 3),
    "redirects": [entry.response.redirectURL for entry in page.filter_entries(status_code="302")],
    "queries": sorted(str(entry.request.queryString) for entry in page.entries),
}))
"""


def expected(archive):
    """The same facts, from the JSON itself."""
    entries = json.loads(archive)["log"]["entries"]
    images = [entry for entry in entries if entry["response"]["content"]["mimeType"] == "image/png"]
    return {
        "version": "1.2",
        "creator": "inflight",
        "statuses": [0, 0, 200, 200, 200, 200, 302, 404, 503, 503],
        "start": min(entry["startedDateTime"] for entry in entries).replace("Z", "000+00:00"),
        "types": ["image/png", "text/html"],
        "images": 3,
        "bytes": sum(entry["response"]["bodySize"] for entry in images),
        "time": round(sum(entry["time"] for entry in entries), 3),
        "redirects": ["/picture-7.png"],
        "queries": sorted(str(entry["request"]["queryString"]) for entry in entries),
    }


def main():
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        written, count = archive(pathlib.Path(folder), server)
    with environment("install", "haralyzer") as (_, python):
        read = json.loads(subprocess.run([python, "-c", READER], input=written, capture_output=True, check=True).stdout)
    wanted = expected(written)
    wrong = [name for name in wanted if read[name] != wanted[name]]
    for name in wrong:
        print(f"test-har: {name}: read {read[name]} instead of {wanted[name]}", file=sys.stderr)
    if len(read["statuses"]) != count:
        wrong.append("count")
        print(f"test-har: {len(read['statuses'])} entries instead of {count}", file=sys.stderr)
    if not wrong:
        print(f"test-har: haralyzer read {count} entries: {read['images']} images with {read['bytes']} bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
