"""Thumbnails of formats other than JPEG, the memory of a very large JPEG, cancelled decodes, and probing."""

import pictures
from decode_part import WIDTH, column, libvips, ours, pillow, rated
from measure import in_turns, sample

NAMES = {"png": "PNG", "webp": "WebP, lossy,", "lossless": "WebP, lossless,"}


def run(bench, table):
    folders = pictures.write_formats(bench.folder / "formats")
    milliseconds = 500 if bench.is_quick else 1000
    for key, name in NAMES.items():
        folder = folders[key]
        sides = {
            "ours": lambda folder=folder: rated(sample(ours(bench, folder, milliseconds))),
            "pillow": lambda folder=folder: pillow(bench, folder, milliseconds),
            "vips": lambda folder=folder: libvips(bench, folder, milliseconds),
        }
        if bench.python:
            sides["newest"] = lambda folder=folder: pillow(bench, folder, milliseconds, bench.python)
        samples = in_turns(bench.rounds, **sides)
        peers = [("pillow", "Pillow", "≥ 1, aim 1.5"), ("newest", "the newest Pillow", "≥ 1.3"), ("vips", "libvips", "")]
        for peer, title, target in peers:
            if peer in samples:
                table.compare(
                    f"{name} 640 × 480 to {WIDTH} wide, two threads", "/s",
                    column(samples, "ours", "rate"), column(samples, peer, "rate"), title, target)
    if "avif" in folders:
        run_avif(bench, table, folders["avif"], milliseconds)
    else:
        table.add("AVIF", "not measured: `vips` is not installed, or cannot write AVIF")


def run_avif(bench, table, folder, milliseconds):
    """Measures AVIF in decoder processes, as in production, and the same codec in the benchmark's process."""
    decoder = bench.inflight.with_name("inflight-decoder")
    inside = [bench.binary("IsolatedSpeed"), *ours(bench, folder, milliseconds)[1:]]
    samples = in_turns(
        bench.rounds,
        ours=lambda: rated(sample([*ours(bench, folder, milliseconds), "--decoder", decoder])),
        inside=lambda: rated(sample(inside)),
        vips=lambda: libvips(bench, folder, milliseconds),
    )
    for peer, title, target in [("vips", "libvips", "≥ 1"), ("inside", "the codec in one process", "")]:
        table.compare(
            f"AVIF 640 × 480 to {WIDTH} wide, two at a time, in decoder processes", "/s",
            column(samples, "ours", "rate"), column(samples, peer, "rate"), title, target)
    table.compare(
        "the same by the codec in one process", "/s",
        column(samples, "inside", "rate"), column(samples, "vips", "rate"), "libvips", "≥ 1")


def run_memory(bench, table):
    path = bench.folder / "giant.jpg"
    pictures.write_giant(path)
    samples = [sample([bench.binary("DecodeMemory"), path, "--width", WIDTH]) for _ in range(bench.rounds)]
    one = samples[0]
    what = f"baseline JPEG of {one['megapixels']:.0f} megapixels ({one['file']:.0f} MB) to {WIDTH} wide"
    table.alone(f"{what}: peak memory added by the decode", "MB", [one["beyond"] for one in samples], "< 40 MB")
    table.alone(f"{what}: CPU time", "s", [one["cpu"] for one in samples])
    path.unlink()


def run_stop(bench, table):
    folder = bench.folder / "cancelled"
    pictures.write_cancelled(folder)
    rounds = 10 if bench.is_quick else 40
    one = sample([bench.binary("DecodeCancel"), folder, "--rounds", rounds])
    names = {
        "jpeg": "JPEG", "progressive": "progressive JPEG", "png": "PNG", "webp": "WebP, lossy", "lossless": "WebP, lossless",
        "gif": "GIF",
    }
    for key, name in names.items():
        table.add(
            f"cancelled decode of 24 megapixels of {name} ({one[key + '_whole']:.0f} ms): until its thread is free",
            f"median {one[key + '_median']:.1f} ms, longest {one[key + '_longest']:.1f} ms of {one[key + '_count']:.0f}",
            target="< 50 ms")


def run_probe(bench, table):
    folder = bench.folder / "probed"
    pictures.write_probed(folder)
    milliseconds = 50 if bench.is_quick else 200
    samples = in_turns(
        bench.rounds, ours=lambda: sample([bench.binary("ProbeSpeed"), folder, "--ms", milliseconds]))["ours"]
    for name in sorted(samples[0]):
        kind, tags = name.split("_")
        title = {"jpeg": "JPEG", "png": "PNG", "webp": "WebP", "gif": "GIF"}[kind]
        more = " with a colour profile and EXIF" if tags == "tagged" else ""
        table.alone(f"probe of a {title}{more}", "µs", [one[name] for one in samples], "< 20 µs")
