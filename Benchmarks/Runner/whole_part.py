"""From URLs to thumbnail files: `inflight get` beside a typical shell pipeline and a tuned Python program."""

import os
import shutil
import subprocess
import sys
import time

import pictures
from command_part import watched
from measure import in_turns

QUALITY, AT_ONCE, WIDTH = 80, 16, 256


def spent(command, made, *folders, env=None, pattern="[!.]*"):
    """Empties the folders, runs a command, and returns images per second of CPU time and of wall time.

    `pattern` names the images in the last folder.

    CPU time includes the command's child processes.
    """
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1)]
    start = time.monotonic()
    words = [str(part) for part in command]
    process = os.posix_spawn(words[0], words, env or os.environ, file_actions=actions)
    # Includes the command's children that it has waited for.
    _, status, usage = os.wait4(process, 0)
    seconds = time.monotonic() - start
    os.close(null)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(words)} exited with status {os.waitstatus_to_exitcode(status)}")
    found = sum(1 for _ in folders[-1].glob(pattern))
    if found != made:
        raise SystemExit(f"bench: {' '.join(words)} wrote {found} of {made} images")
    return {"cpu": made / (usage.ru_utime + usage.ru_stime), "wall": made / seconds}


def write_files(bench, count, different=50):
    folder = bench.folder / "files" / "whole"
    if not folder.exists():  # several parts use the same files
        pictures.write_large(folder, different)
        for index in range(different, count):
            (folder / f"{index:05}.jpg").hardlink_to(folder / f"{index % different:05}.jpg")
        folder.chmod(0o755)
    return [f"{bench.plain}/whole/{index:05}.jpg" for index in range(count)]


def run(bench, table):
    count = 1000 if bench.is_quick else 2000
    urls = write_files(bench, count)
    listed, config = bench.folder / "whole.txt", bench.folder / "whole-curl.txt"
    listed.write_text("".join(f"{url}\n" for url in urls))
    config.write_text("".join(f'url = "{url}"\nremote-name\n' for url in urls))
    fetched, made = bench.folder / "fetched", bench.folder / "thumbnails"
    ours = [bench.inflight, "get", "-i", listed, "-o", made, "--size", f"{WIDTH}x", "--format", "jpeg", "--quiet"]
    ours += ["--no-cache", "--quality", QUALITY, "--concurrency", AT_ONCE, "--per-host", AT_ONCE]
    sides = {"ours": lambda: spent(ours, count, made)}

    limit = [bench.peer("whole_limit"), listed, made, WIDTH, QUALITY, AT_ONCE]
    sides["limit"] = lambda: spent([*limit, 1], count, made)
    sides["half"] = lambda: spent([*limit, 2], count, made)
    if shutil.which("curl") and shutil.which("vipsthumbnail"):
        script = (
            f'cd "$1" && curl -Z --parallel-max {AT_ONCE} --silent --config "$3"'
            f' && vipsthumbnail --size {WIDTH}x -o "$2/%s.jpg[Q={QUALITY}]" *.jpg')
        shell = ["/bin/sh", "-c", script, "sh", fetched, made, config]
        one_thread = os.environ | {"VIPS_CONCURRENCY": "1"}
        sides["shell"] = lambda: spent(shell, count, fetched, made)
        sides["one"] = lambda: spent(shell, count, fetched, made, env=one_thread)
    python = [bench.source("whole_aiohttp.py"), listed, made, WIDTH, QUALITY, AT_ONCE]
    if subprocess.run([sys.executable, "-c", "import aiohttp"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        sides["python"] = lambda: spent([sys.executable, *python], count, made)
    if bench.python:
        sides["newest"] = lambda: spent([bench.python, *python, "fast"], count, made)
        dataset = [bench.python.with_name("img2dataset"), "--url_list", listed, "--output_folder", made]
        dataset += ["--image_size", WIDTH, "--resize_mode", "keep_ratio_largest", "--resize_only_if_bigger", "True"]
        dataset += ["--encode_quality", QUALITY, "--thread_count", AT_ONCE // 2, "--processes_count", 2]
        dataset += ["--number_sample_per_shard", count // 2, "--compute_hash", "None"]
        alone = os.environ | {"NO_ALBUMENTATIONS_UPDATE": "1"}
        sides["dataset"] = lambda: spent(dataset, count, made, env=alone, pattern="*/*.jpg")

    samples = in_turns(max(3, bench.rounds // 2), **sides)
    peers = [
        ("shell", "`curl -Z`, `vipsthumbnail`", "≥ 5"),
        ("one", "the same with `VIPS_CONCURRENCY=1`", ""),
        ("python", "aiohttp and Pillow, two processes", "≥ 2"),
        ("newest", "the same with the newest Pillow, `draft`, bilinear", "≥ 2"),
        ("dataset", "img2dataset 1.47, two processes", "≥ 5"),
        ("limit", "C: libcurl, libjpeg-turbo at full size, Lanczos", "≥ 0.8"),
        ("half", "the same, decoding at half size", ""),
    ]
    what = f"{count:,} JPEGs of 640 × 480 from nginx to thumbnail files"
    table.alone(f"{what}: peak memory", "MB", [watched(ours, made)["memory"] for _ in range(3)], "≤ 80 MB")
    for unit, title in [("cpu", "per second of CPU time"), ("wall", "per second")]:
        for side, name, target in peers:
            if side in samples:
                rates = [[one[unit] for one in samples[key]] for key in ("ours", side)]
                table.compare(f"{what}: {title}", "/s", *rates, name, target if unit == "cpu" else "")
            elif unit == "cpu":
                table.add(what, "", f"{name}: not measured; install it with Scripts/deps.sh bench")
