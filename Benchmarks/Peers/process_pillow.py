"""Peer: the CPU time of Pillow's operations on one core, in nanoseconds per source pixel.

    process_pillow.py WIDTH HEIGHT MILLISECONDS
"""

import sys
import time

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

width, height, seconds = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) / 1000

opaque = Image.frombytes(
    "RGB", (width, height), bytes(v & 255 for y in range(height) for x in range(width) for v in (x, y, x ^ y)))
clear = opaque.copy()
clear.putalpha(Image.frombytes("L", (width, height), bytes((x + y) & 255 for y in range(height) for x in range(width))))


def flatten():
    ground = Image.new("RGBA", clear.size, (255, 255, 255, 255))
    return Image.alpha_composite(ground, clear)


def round_corners():
    mask = Image.new("L", opaque.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), 40, fill=255)
    image = opaque.convert("RGBA")
    image.putalpha(mask)
    return image


def circle():
    side = min(width, height)
    image = ImageOps.fit(opaque, (side, side)).convert("RGBA")
    mask = Image.new("L", (side, side), 0)
    ImageDraw.Draw(mask).ellipse((0, 0, side - 1, side - 1), fill=255)
    image.putalpha(mask)
    return image


STEPS = {
    "resize": lambda: opaque.resize((width // 4, height // 4), Image.Resampling.LANCZOS),
    "blur2": lambda: opaque.filter(ImageFilter.GaussianBlur(2)),
    "blur4": lambda: opaque.filter(ImageFilter.GaussianBlur(4)),
    "blur20": lambda: opaque.filter(ImageFilter.GaussianBlur(20)),
    "sharpen": lambda: opaque.filter(ImageFilter.UnsharpMask(1, 50, 0)),
    "grey": lambda: ImageOps.grayscale(opaque),
    "adjust": lambda: ImageEnhance.Contrast(ImageEnhance.Brightness(opaque).enhance(1.2)).enhance(1.1),
    "quarter": lambda: opaque.transpose(Image.Transpose.ROTATE_270),
    "rotate": lambda: opaque.rotate(-30, Image.Resampling.BICUBIC, expand=True),
    "flip": lambda: opaque.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "flatten": flatten,
    "round": round_corners,
    "circle": circle,
}

for name, step in STEPS.items():
    step()
    count, start, cpu = 0, time.monotonic(), time.process_time()
    while time.monotonic() - start < seconds:
        step()
        count += 1
    print(f"{name}={(time.process_time() - cpu) / (count * width * height) * 1e9:.6f}", end=" ")
print()
