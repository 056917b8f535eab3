#!/usr/bin/env python3
"""Opens the output of `inflight batch` with the packages webdataset, datasets, pyarrow and duckdb.

    INFLIGHT=COMMAND Scripts/test-dataset.py [FOLDER]

Downloads a few hundred generated images with captions, failures and duplicates from a local server, in each layout.
FOLDER (default .build/dataset) keeps a virtual environment with the packages, which it installs if necessary.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "Batch"))
from server import Server, png  # noqa: E402

INFLIGHT = os.environ.get("INFLIGHT", "inflight")
PACKAGES = ["webdataset", "datasets", "pillow", "duckdb"]
SHARD = 100

# Reads a folder and prints what each library has found in it, by key.
READER = r"""
import glob, io, json, sys
import datasets, duckdb, pyarrow, pyarrow.json, webdataset
from PIL import Image

datasets.disable_progress_bars()
folder, cache = sys.argv[1:]
archives, sidecars = sorted(glob.glob(folder + "/*.tar")), sorted(glob.glob(folder + "/*.jsonl.zst"))
found = {"webdataset": {}, "datasets": {}, "pyarrow": {}, "duckdb": {}}
if archives:
    for sample in webdataset.WebDataset(archives, shardshuffle=False).decode("pil"):
        found["webdataset"][sample["__key__"]] = [list(sample["jpg"].size), sample["json"], sample.get("txt")]
    loaded = datasets.load_dataset("webdataset", data_files=archives, split="train", cache_dir=cache)
    found["features"] = {name: str(kind) for name, kind in loaded.features.items()}
    for sample in loaded:
        found["datasets"][sample["__key__"]] = [list(sample["jpg"].size), sample["json"], sample.get("txt")]
for sidecar in sidecars:
    with pyarrow.CompressedInputStream(pyarrow.OSFile(sidecar), "zstd") as stream:
        for row in pyarrow.json.read_json(io.BytesIO(stream.read())).to_pylist():
            found["pyarrow"][row["key"]] = row
rows = duckdb.read_json(folder + "/*.jsonl.zst", format="newline_delimited", compression="zstd")
found["duckdb"] = dict(rows.project("key, status").fetchall())
print(json.dumps(found))
"""


def fail(text):
    sys.exit(f"test-dataset: failed: {text}")


def check(found, expected, text):
    if found != expected:
        fail(f"{text}: {found!r} instead of {expected!r}"[:2000])


def environment(folder):
    """The Python of a virtual environment with the packages."""
    python = folder / "bin" / "python"
    listed = folder / "packages"
    if not listed.is_file() or listed.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *PACKAGES], check=True)
        listed.write_text(" ".join(PACKAGES))
    return python


def image(number):
    return png(number, 16 + number % 50, 20 + number % 31, maker="Maker é" if number % 3 else None)


def rows(port):
    """320 rows of images, 40 of missing ones, 20 of text, and 20 duplicates, with columns of all types of JSON."""
    found = []
    for number in range(400):
        url = f"http://127.0.0.1:{port}/{'m' if number % 10 == 3 else 'i'}/{number}"
        if number % 20 == 7:
            url = found[number - 5]["url"]
        found.append({
            "url": url, "caption": None if number % 7 == 0 else f"caption {number}: \"é\"\n", "id": f"a/{number}.jpg",
            "rank": number, "score": number / 8, "tags": [str(number), "t"], "more": {"a": None, "b": number % 2 == 0}})
    return found


def download(folder, rows, *options):
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    output = folder / "out"
    for arguments in (
            [folder / "rows.jsonl", "-o", output, "--format", "jpeg", "--caption-column", "caption", "--shard-size",
             SHARD, "--per-host", 32, "--allow-private", "--quiet", *options],
            ["verify", output]):
        result = subprocess.run([INFLIGHT, "batch", *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            fail(f"inflight batch {arguments} ended with {result.returncode}: {result.stdout}{result.stderr}")
    return output


def kinds(row):
    """The names of columns with the types of their values, without those of their parts. A caption may be null."""
    return [(name, "str" if name == "caption" and value is None else type(value).__name__) for name, value in row.items()]


def check_row(row, source, key, is_success):
    number = source["rank"]
    check(row["url"], source["url"], f"URL of {key}")
    check(row["status"], "success" if is_success else "failed_to_download", f"status of {key}")
    for name in ("rank", "score", "tags", "more", "caption"):
        check(row[name], source[name], f"{name} of {key}")
    if not is_success:
        check((row["width"], row["exif"], row["sha256"]), (None, None, None), f"columns of {key}")
        return
    original = int(source["url"].rpartition("/")[2])
    size = [16 + original % 50, 20 + original % 31]
    check([row["original_width"], row["original_height"]], size, f"original size of {key}")
    check([row["width"], row["height"]], size, f"size of {key}")
    check(len(row["sha256"]), 64, f"digest of {key}")
    exif = json.loads(row["exif"])
    check(bool(exif), bool(original % 3), f"EXIF of {key} ({exif}), number {number}")


def layout(name, python, folder, rows, *options):
    work = folder / name
    work.mkdir()
    output = download(work, rows, *options)
    result = subprocess.run([python, "-c", READER, output, work / "cache"], capture_output=True, text=True)
    if result.returncode != 0:
        fail(f"the libraries cannot read the layout {name}:\n{result.stderr}")
    found = json.loads(result.stdout)
    sources = {f"{n // SHARD:05}{n % SHARD:04}": row for n, row in enumerate(rows)}
    successes = {key for key, row in sources.items() if "/i/" in row["url"]}

    for library in ("pyarrow", "duckdb"):
        check(set(found[library]), set(sources), f"keys of {library}")
    check({key for key, status in found["duckdb"].items() if status == "success"}, successes, "successes of duckdb")
    for key, row in found["pyarrow"].items():
        check_row(row, sources[key], key, key in successes)
    if name == "webdataset":
        columns = None
        for library in ("webdataset", "datasets"):
            check(set(found[library]), successes, f"keys of {library}")
            for key, (size, row, caption) in found[library].items():
                check_row(row, sources[key], key, True)
                check(size, [row["width"], row["height"]], f"pixels of {key} in {library}")
                check(caption, sources[key]["caption"] or "", f"caption of {key} in {library}")
                columns = columns or kinds(row)
                check(kinds(row), columns, f"columns of {key} in {library}")
        check(set(found["features"]), {"__key__", "__url__", "jpg", "json", "txt"}, "features of datasets")
    print(f"test-dataset: {name}: {len(sources)} rows, {len(successes)} images")


def main(folder):
    python = environment(folder)
    with tempfile.TemporaryDirectory() as name, Server(image=image) as server:
        listed = rows(server.port)
        layout("webdataset", python, pathlib.Path(name), listed)
        layout("files", python, pathlib.Path(name), listed, "--layout", "files")
        layout("hashed", python, pathlib.Path(name), listed, "--layout", "hashed")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".build/dataset").absolute())
