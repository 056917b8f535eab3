"""Datasets as tests compare them: which rows they have, and the hash of each image."""

import collections
import hashlib
import json
import os
import pathlib
import subprocess
import tarfile

import pyarrow as pa

from support import COMMAND


def rows(paths):
    """The number of rows with each key, from sidecars."""
    found = collections.Counter()
    for path in paths:
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            found.update(json.loads(line)["key"] for line in stream.read().splitlines())
    return found


def images(paths):
    """The hash of each image, by key, from archives. A key that occurs twice is an error."""
    found = {}
    for path in paths:
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, extension = member.name.partition(".")
                if extension == "jpg":
                    assert key not in found, f"{key} is in two archives"
                    found[key] = hashlib.sha256(tar.extractfile(member).read()).hexdigest()
    return found


def sidecars(manifest):
    return [os.path.join(manifest.folder, file.path) for file in manifest.files if file.path.endswith(".jsonl.zst")]


def on_one_machine(records, folder, *options):
    """Writes the rows with `inflight batch`. Returns the rows by key, and the hashes of the images."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    subprocess.run(
        [COMMAND, "batch", "-", "-o", folder, "--input-format", "jsonl", *options], input=lines.encode(), check=True,
        capture_output=True)
    found = pathlib.Path(folder)
    return rows(found.glob("*.jsonl.zst")), images(found.glob("*.tar"))
