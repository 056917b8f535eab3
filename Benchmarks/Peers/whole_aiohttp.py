"""Peer: fetches URLs with aiohttp and writes thumbnail files with Pillow, in two processes.

    whole_aiohttp.py LIST FOLDER WIDTH QUALITY AT_ONCE [fast]

By default Pillow decodes at twice the size and resizes with its bicubic filter. With `fast` it decodes at the smallest
size that is large enough, and resizes with its bilinear filter.

Each process has one event loop and half of the URLs. Its event loop stops while it makes a thumbnail; meanwhile the
kernel's receive buffers fill. With one process per core this is faster than threads, which contend for the GIL.
"""

import asyncio
import io
import os
import pathlib
import sys

import aiohttp
from PIL import Image

listed, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
width, quality, at_once = map(int, sys.argv[3:6])
way = (Image.BILINEAR, 1.0) if sys.argv[6:] == ["fast"] else (Image.BICUBIC, 2.0)
PROCESSES = 2


def store(url, data):
    image = Image.open(io.BytesIO(data))
    # `thumbnail` lets the JPEG decoder scale down while it decodes.
    image.thumbnail((width, 100_000), *way)
    image.save(folder / url.rsplit("/", 1)[1], "JPEG", quality=quality)


async def run(urls):
    connector = aiohttp.TCPConnector(limit=at_once // PROCESSES)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work():
            while urls:
                url = urls.pop()
                async with session.get(url) as answer:
                    answer.raise_for_status()
                    data = await answer.read()
                store(url, data)

        await asyncio.gather(*(work() for _ in range(at_once // PROCESSES)))


def main():
    urls = listed.read_text().split()
    children = []
    # Fork after the imports, so that both processes share their cost.
    for number in range(PROCESSES):
        child = os.fork()
        if child == 0:
            asyncio.run(run(urls[number::PROCESSES]))
            os._exit(0)
        children.append(child)
    if any(os.waitpid(child, 0)[1] != 0 for child in children):
        sys.exit("a process failed")


main()
