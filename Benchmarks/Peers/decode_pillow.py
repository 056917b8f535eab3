"""Peer: Pillow's `Image.thumbnail()` resizes images in memory to a width. The runner starts several processes.

    decode_pillow.py FOLDER WIDTH MILLISECONDS [DUMP_FOLDER]

Prints `ready`, waits for a line on standard input, then decodes until the time is over.
"""

import io
import pathlib
import sys
import time

from PIL import Image

folder, width, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) / 1000
files = sorted(folder.iterdir())
pictures = [file.read_bytes() for file in files]


def thumbnail(data):
    image = Image.open(io.BytesIO(data))
    image.thumbnail((width, 100_000))
    return image


if len(sys.argv) > 4:
    for file, data in zip(files, pictures):
        thumbnail(data).save(pathlib.Path(sys.argv[4]) / (file.name + ".ppm"))
    sys.exit()

thumbnail(pictures[0])
print("ready", flush=True)
sys.stdin.readline()
done = 0
start, cpu = time.monotonic(), time.process_time()
while time.monotonic() - start < seconds:
    thumbnail(pictures[done % len(pictures)])
    done += 1
print(f"pictures={done} seconds={time.monotonic() - start:.6f} cpu={time.process_time() - cpu:.6f}")
