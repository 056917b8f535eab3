"""JPEG to a thumbnail in memory: against libvips and Pillow, with libjpeg-turbo's scaled decode as the floor."""

import os
import subprocess
import sys

import pictures
from measure import in_turns, numbers, sample

WIDTH = 256


def pillow(bench, folder, milliseconds):
    """Two processes at once, start-up excluded; their rates added."""
    command = [sys.executable, bench.source("decode_pillow.py"), folder, WIDTH, milliseconds]
    processes = [
        subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    samples = [numbers(process.communicate()[0]) for process in processes]
    return {
        "rate": sum(one["pictures"] / one["seconds"] for one in samples),
        "cpu": sum(one["cpu"] for one in samples) / sum(one["pictures"] for one in samples),
    }


def rated(value):
    return {"rate": value["pictures"] / value["seconds"], "cpu": value["cpu"] / value["pictures"]}


def run(bench, table):
    folder = bench.folder / "photographs"
    pictures.write_large(folder)
    milliseconds = 500 if bench.is_quick else 2000
    one_thread = os.environ | {"VIPS_CONCURRENCY": "1"}
    ours, vips, floor = bench.binary("DecodeSpeed"), bench.peer("decode_vips"), bench.peer("decode_floor")
    command = [ours, folder, "--width", WIDTH, "--threads", 2, "--ms", milliseconds]
    decoder = bench.inflight.with_name("inflight-decoder")
    samples = in_turns(
        bench.rounds,
        ours=lambda: rated(sample(command)),
        worker=lambda: rated(sample([*command, "--decoder", decoder])),
        vips=lambda: rated(sample([vips, folder, WIDTH, 2, milliseconds], env=one_thread)),
        pillow=lambda: pillow(bench, folder, milliseconds),
        floor=lambda: rated(sample([floor, folder, 2, 2, milliseconds])),
        full=lambda: rated(sample([floor, folder, 1, 2, milliseconds])),
    )
    peers = [
        ("vips", "libvips", "≥ 4"),
        ("pillow", "Pillow", "≥ 1.3"),
        ("floor", "libjpeg-turbo at 1/2, not resized", ""),
        ("full", "libjpeg-turbo in full, not resized", ""),
    ]
    for key, name, target in peers:
        table.compare(
            "JPEG 640 × 480 to 256 wide, two threads", "/s",
            [one["rate"] for one in samples["ours"]], [one["rate"] for one in samples[key]], name, target)
    table.compare(
        "the same in decoders' processes", "/s",
        [one["rate"] for one in samples["worker"]], [one["rate"] for one in samples["ours"]], "in the program", "≥ 0.85")
    for key, name, _ in peers:
        table.compare(
            "the same: CPU time of each", "µs",
            [one["cpu"] * 1e6 for one in samples["ours"]], [one["cpu"] * 1e6 for one in samples[key]], name)
    run_quality(bench, table, folder, one_thread)


def run_quality(bench, table, folder, one_thread):
    dumps = {name: bench.folder / f"dump-{name}" for name in ("ours", "libvips", "Pillow")}
    for dump in dumps.values():
        dump.mkdir()
    commands = [
        [bench.binary("DecodeSpeed"), folder, "--width", WIDTH, "--dump", dumps["ours"]],
        [bench.peer("decode_vips"), folder, WIDTH, 1, 1, dumps["libvips"]],
        [sys.executable, bench.source("decode_pillow.py"), folder, WIDTH, 1, dumps["Pillow"]],
    ]
    for command in commands:
        subprocess.run([str(part) for part in command], check=True, env=one_thread)
    references = [("pixels", "of the decoder's RGB bytes"), ("samples", "of the decoder's luma and chroma")]
    for reference, name in references:
        command = [bench.peer("quality"), folder, reference, *dumps.values()]
        lines = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout
        ours, vips, other = map(numbers, lines.splitlines())
        table.add(
            f"PSNR to Lanczos in double precision {name}: mean, worst",
            f"{ours['mean']:.2f}, {ours['worst']:.2f} dB",
            f"libvips: {vips['mean']:.2f}, {vips['worst']:.2f} dB; "
            f"Pillow: {other['mean']:.2f}, {other['worst']:.2f} dB",
            f"{ours['mean'] - vips['mean']:+.2f} dB to libvips",
            "≥ libvips",
        )
