"""JPEG to a thumbnail in memory, beside libvips and Pillow; libjpeg-turbo's scaled decode is the lower bound."""

import os
import subprocess
import sys

import pictures
from measure import in_turns, numbers, sample

WIDTH = 256
ONE_THREAD = os.environ | {"VIPS_CONCURRENCY": "1"}


def pillow(bench, folder, milliseconds, python=sys.executable):
    """Runs two processes at once and adds their rates. Start-up is excluded."""
    command = [python, bench.source("decode_pillow.py"), folder, WIDTH, milliseconds]
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


def ours(bench, folder, milliseconds):
    return [bench.binary("DecodeSpeed"), folder, "--width", WIDTH, "--threads", 2, "--ms", milliseconds]


def libvips(bench, folder, milliseconds):
    return rated(sample([bench.peer("decode_vips"), folder, WIDTH, 2, milliseconds], env=ONE_THREAD))


def column(samples, side, name):
    return [one[name] for one in samples[side]]


def run(bench, table):
    small, large = bench.folder / "photographs", bench.folder / "large"
    pictures.write_large(small)
    pictures.write_large(large, count=2 if bench.is_quick else 4, size=(4000, 3000))
    run_size(bench, table, small, "640 × 480", 2, {"vips": "≥ 5", "pillow": "≥ 1.6, aim 2"})
    run_size(bench, table, large, "4000 × 3000", 8, {"vips": "≥ 1.4", "pillow": "≥ 1.15"})


def run_size(bench, table, folder, size, denominator, targets):
    """Measures one image size. `denominator` selects the smallest decode scale that is at least as wide as wanted."""
    milliseconds = 500 if bench.is_quick else 2000
    command = ours(bench, folder, milliseconds)
    floor = bench.peer("decode_floor")
    samples = in_turns(
        bench.rounds,
        ours=lambda: rated(sample(command)),
        worker=lambda: rated(sample([*command, "--decoder", bench.inflight.with_name("inflight-decoder")])),
        vips=lambda: libvips(bench, folder, milliseconds),
        pillow=lambda: pillow(bench, folder, milliseconds),
        floor=lambda: rated(sample([floor, folder, denominator, 2, milliseconds])),
        full=lambda: rated(sample([floor, folder, 1, 2, milliseconds])),
    )
    peers = [
        ("vips", "libvips"),
        ("pillow", "Pillow"),
        ("floor", f"libjpeg-turbo at 1/{denominator}, without resize"),
        ("full", "libjpeg-turbo at full size, without resize"),
    ]
    for key, name in peers:
        table.compare(
            f"JPEG {size} to {WIDTH} wide, two threads", "/s",
            column(samples, "ours", "rate"), column(samples, key, "rate"), name, targets.get(key, ""))
    table.compare(
        f"JPEG {size} in decoder processes", "/s",
        column(samples, "worker", "rate"), column(samples, "ours", "rate"), "in process", "≥ 0.85")
    for key, name in peers:
        table.compare(
            f"JPEG {size}: CPU time per image", "µs",
            [value * 1e6 for value in column(samples, "ours", "cpu")],
            [value * 1e6 for value in column(samples, key, "cpu")], name)
    run_quality(bench, table, folder, size)


def run_quality(bench, table, folder, size):
    dumps = {name: bench.folder / f"{folder.name}-{name}" for name in ("ours", "libvips", "Pillow")}
    for dump in dumps.values():
        dump.mkdir()
    commands = [
        [bench.binary("DecodeSpeed"), folder, "--width", WIDTH, "--dump", dumps["ours"]],
        [bench.peer("decode_vips"), folder, WIDTH, 1, 1, dumps["libvips"]],
        [sys.executable, bench.source("decode_pillow.py"), folder, WIDTH, 1, dumps["Pillow"]],
    ]
    for command in commands:
        subprocess.run([str(part) for part in command], check=True, env=ONE_THREAD)
    references = [("pixels", "from the decoder's RGB bytes"), ("samples", "from the decoder's luma and chroma")]
    for reference, name in references:
        command = [bench.peer("quality"), folder, reference, *dumps.values()]
        lines = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout
        own, vips, other = map(numbers, lines.splitlines())
        table.add(
            f"{size}: PSNR to Lanczos in double precision {name}: mean, worst",
            f"{own['mean']:.2f}, {own['worst']:.2f} dB",
            f"libvips: {vips['mean']:.2f}, {vips['worst']:.2f} dB; "
            f"Pillow: {other['mean']:.2f}, {other['worst']:.2f} dB",
            f"{own['mean'] - vips['mean']:+.2f} dB to libvips",
            "≥ libvips",
        )
