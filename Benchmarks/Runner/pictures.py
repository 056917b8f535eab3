"""Generates images that resemble photographs, the same in each run: noise of all scales, and a few edges."""

import io
import math
import random
import subprocess

from PIL import Image, ImageChops, ImageCms, ImageDraw


def noise(randomness, size, octaves):
    """Grey noise. Each octave doubles the detail and divides the contrast by 1.6."""
    result = Image.new("L", size, 128)
    for octave in range(octaves):
        small = (4 << octave, 3 << octave)
        layer = Image.frombytes("L", small, randomness.randbytes(small[0] * small[1])).resize(size, Image.BICUBIC)
        amplitude = 0.9 / 1.6**octave
        result = ImageChops.add(result, layer.point(lambda value, a=amplitude: value * a / 2 + 64 - 64 * a), 1, -64)
    return result


def photograph(seed, size):
    """An image drawn at twice the size and reduced, so that its edges are soft. Its colours are pale, like most
    photographs'.
    """
    randomness = random.Random(seed)
    width, height = size[0] * 2, size[1] * 2
    # Larger images get more octaves, so that they too have details of a pixel or two.
    octaves = max(8, 8 + round(math.log2(size[0] / 640)))
    light = noise(randomness, (width, height), octaves)
    draw = ImageDraw.Draw(light)
    for _ in range(12):
        x, y, r = (randomness.randrange(limit) for limit in (width, height, width // 6))
        draw.ellipse((x - r, y - r // 2, x + r, y + r // 2), outline=randomness.randrange(256), width=4)
        draw.line((y, x, x, y + r), fill=randomness.randrange(256), width=6)
    colours = [
        noise(randomness, (width, height), 4).point(lambda value: 128 + (value - 128) * 0.4) for _ in range(2)]
    # Stay away from black and white, where colours would be clipped.
    light = light.point(lambda value: 20 + value * 0.84)
    return Image.merge("YCbCr", (light, *colours)).convert("RGB").resize(size, Image.BOX)


def jpeg(picture, quality):
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality, subsampling=2)
    return file.getvalue()


def small_jpeg(seed, wanted):
    """A JPEG of about `wanted` bytes."""
    picture = photograph(seed, (160, 120))
    return min((jpeg(picture, quality) for quality in range(30, 96, 5)), key=lambda data: abs(len(data) - wanted))


def write_small(folder, count, wanted=5000, different=50):
    """Writes `count` files 00000.jpg … of about `wanted` bytes, with `different` different contents.

    Returns the mean size.
    """
    folder.mkdir(parents=True)
    contents = [small_jpeg(seed, wanted) for seed in range(different)]
    for index in range(count):
        (folder / f"{index:05}.jpg").write_bytes(contents[index % different])
    folder.chmod(0o755)
    return sum(map(len, contents)) / different


def write_large(folder, count=8, size=(640, 480), quality=85):
    folder.mkdir(parents=True)
    for seed in range(count):
        (folder / f"{seed:05}.jpg").write_bytes(jpeg(photograph(1000 + seed, size), quality))


def write_formats(folder, count=8, size=(640, 480)):
    """Writes the same images as PNG, lossy and lossless WebP, and AVIF if `vips` can write it.

    Returns the folder of each format.
    """
    folders = {name: folder / name for name in ("png", "webp", "lossless", "avif")}
    for each in folders.values():
        each.mkdir(parents=True)
    has_avif = True
    for seed in range(count):
        picture, name = photograph(1000 + seed, size), f"{seed:05}"
        png = folders["png"] / f"{name}.png"
        picture.save(png)
        picture.save(folders["webp"] / f"{name}.webp", quality=80)
        picture.save(folders["lossless"] / f"{name}.webp", lossless=True)
        if has_avif:
            command = ["vips", "heifsave", png, folders["avif"] / f"{name}.avif", "--Q", "60", "--compression", "av1"]
            try:
                subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)
            except (OSError, subprocess.CalledProcessError):
                has_avif = False
    if not has_avif:
        del folders["avif"]
    return folders


def write_probed(folder, size=(640, 480)):
    """Writes an image in four formats without metadata, and in all but GIF also with a colour profile and EXIF."""
    folder.mkdir(parents=True)
    picture = photograph(1000, size)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Inflight"
    tags = {"icc_profile": ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(), "exif": exif.tobytes()}
    for name in ("jpeg", "png", "webp"):
        picture.save(folder / f"{name}_bare", name)
        picture.save(folder / f"{name}_tagged", name, **tags)
    picture.quantize(256).save(folder / "gif_bare", "GIF")


def write_cancelled(folder, size=(6000, 4000)):
    """Writes one image of 24 megapixels in each format whose decoding can be cancelled midway."""
    folder.mkdir(parents=True)
    part = photograph(1000, (size[0] // 4, size[1] // 4))
    picture = Image.new("RGB", size)
    for y in range(0, size[1], part.height):
        for x in range(0, size[0], part.width):
            picture.paste(part, (x, y))
    picture.save(folder / "jpeg", "JPEG", quality=85)
    picture.save(folder / "progressive", "JPEG", quality=85, progressive=True)
    picture.save(folder / "png", "PNG", compress_level=3)
    picture.save(folder / "webp", "WEBP", quality=80, method=2)
    picture.save(folder / "lossless", "WEBP", lossless=True, quality=20, method=1)
    picture.quantize(256).save(folder / "gif", "GIF")


def write_giant(path, side=10_000, quality=85):
    """Writes a baseline JPEG of a hundred megapixels, tiled from one image."""
    part = photograph(1000, (side // 5, side // 5))
    picture = Image.new("RGB", (side, side))
    for y in range(0, side, part.height):
        for x in range(0, side, part.width):
            picture.paste(part, (x, y))
    path.write_bytes(jpeg(picture, quality))
