"""The CPU time of each processor, beside the same operation of libvips and of Pillow, on one thread."""

import os
import sys

from measure import in_turns, sample

NAMES = {
    "resize": "resize to a quarter (Lanczos)",
    "blur2": "blur, radius 2",
    "blur4": "blur, radius 4",
    "blur20": "blur, radius 20",
    "sharpen": "sharpen, radius 1",
    "grey": "grey",
    "adjust": "brightness and contrast",
    "quarter": "rotate by 90°",
    "rotate": "rotate by 30° (cubic)",
    "flip": "flip",
    "flatten": "flatten on white",
    "round": "round corners",
    "circle": "circle",
}


def run(bench, table):
    size, milliseconds = ("1280", "960"), "60" if bench.is_quick else "300"
    one_thread = os.environ | {"VIPS_CONCURRENCY": "1"}
    ours = [bench.binary("ProcessorSpeed"), "--width", size[0], "--height", size[1], "--ms", milliseconds]
    samples = in_turns(
        3 if bench.is_quick else 7,
        ours=lambda: sample(ours),
        vips=lambda: sample([bench.peer("process_vips"), *size, milliseconds], env=one_thread),
        pillow=lambda: sample([sys.executable, bench.source("process_pillow.py"), *size, milliseconds]),
    )
    for key, name in NAMES.items():
        for peer, title in (("vips", "libvips"), ("pillow", "Pillow")):
            if key not in samples[peer][0]:
                continue
            table.compare(
                f"{name}: CPU time per pixel", "ns",
                [one[key] for one in samples["ours"]], [one[key] for one in samples[peer]], title, "≤ 1")
