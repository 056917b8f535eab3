"""The recipes of `Documentation/FromImg2dataset.md`, each run on 100 rows of its dataset's schema."""

import base64
import csv
import functools
import hashlib
import importlib.util
import json
import re
import shlex
import tarfile
import unittest

from support import COMMAND, ROOT, Site, needs_command, png
from test_main import Case

needs_pyarrow = unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
LARGE, SMALL = (1200, 600), (40, 20)
picture = functools.cache(png)


def recipes():
    """The arguments of each recipe's command, by the name of the dataset."""
    page = (ROOT / "Documentation" / "FromImg2dataset.md").read_text(encoding="utf-8")
    section = re.search(r"^## Recipes\n(.*?)^## ", page, re.M | re.S)[1]
    found = {}
    for recipe in re.split(r"^### ", section, flags=re.M)[1:]:
        name, _, text = recipe.partition("\n")
        found[name] = shlex.split(re.search(r"^    (?:python -m )?inflight (.*)", text.replace("\\\n", " "), re.M)[1])
    return found


class Pictures(Site):
    """Serves one large and one small image: every tenth number is large."""

    def image(self, number):
        return picture(*SMALL if number % 10 else LARGE)


@needs_command
class Recipes(Case):
    def check(self, name, make, large, small):
        """Writes the list with `make(urls, captions)`, runs the recipe, and checks the sizes of images and captions."""
        with Pictures() as site:
            urls = [row["url"] for row in site.rows(100)]
            captions = [f'caption {n}, "é"' for n in range(100)]
            arguments = recipes()[name]
            make(arguments[1], urls, captions)
            done = self.run_main(*arguments, "--allow-private", "--per-host", "32", command=COMMAND)
            self.assertEqual(done.returncode, 0, done.stderr_text)
        folder = self.folder / arguments[arguments.index("-o") + 1]
        statistics = json.loads((folder / "00000_stats.json").read_text())
        self.assertEqual((statistics["count"], statistics["successes"]), (100, 90))
        samples = {}
        with tarfile.open(folder / "00000.tar") as tar:
            for member in tar:
                key, _, suffix = member.name.partition(".")
                samples.setdefault(key, {})[suffix] = tar.extractfile(member).read()
        rows = {}
        for key, sample in samples.items():
            self.assertEqual((set(sample), sample["jpg"][:3]), ({"jpg", "json", "txt"}, b"\xff\xd8\xff"))
            row = json.loads(sample["json"])
            number = int(row["url"].rpartition("/")[2])
            rows[number] = row
            self.assertEqual(sample["txt"].decode(), captions[number])
            self.assertEqual((row["width"], row["height"]), small if number % 10 else large)
            self.assertEqual(row["key"], key)
        self.assertEqual(set(rows), {n for n in range(100) if n % 10 != 9})
        return rows

    def table(self, **columns):
        def make(place, urls, captions):
            name = place.replace("*", "00000") if place.endswith(".parquet") else f"{place}/part-00000.snappy.parquet"
            (self.folder / name).parent.mkdir(parents=True)
            self.write(name, **{
                column: urls if values == "url" else captions if values == "caption" else values
                for column, values in columns.items()})

        return make

    @needs_pyarrow
    def test_laion_400m(self):
        import pyarrow as pa

        make = self.table(
            SAMPLE_ID=pa.array([n * 1e9 for n in range(100)]), URL="url", TEXT="caption", HEIGHT=range(100),
            WIDTH=range(100), LICENSE=["?"] * 100, NSFW=["UNLIKELY"] * 99 + [None], similarity=[0.3] * 100)
        rows = self.check("LAION-400M", make, (256, 256), (256, 256))
        self.assertEqual([rows[3][name] for name in ("SAMPLE_ID", "HEIGHT", "LICENSE", "similarity")],
                         [3e9, 3, "?", 0.3])

    @needs_pyarrow
    def test_laion_coco(self):
        make = self.table(
            URL="url", TEXT="caption", top_caption=["a dog"] * 100, all_captions=[["a dog", "a cat"]] * 100,
            all_similarities=[[0.25, 0.5]] * 100, WIDTH=range(100), HEIGHT=range(100), similarity=[0.3] * 100,
            hash=[-(1 << 60)] * 100, pwatermark=[0.1] * 100, punsafe=[float("nan")] * 100)
        rows = self.check("LAION-COCO", make, (512, 256), SMALL)
        self.assertEqual([rows[3][name] for name in ("all_captions", "all_similarities", "hash", "punsafe")],
                         [["a dog", "a cat"], [0.25, 0.5], -(1 << 60), None])

    @needs_pyarrow
    def test_coyo_700m(self):
        scores = ["clip_similarity_vitb32", "clip_similarity_vitl14", "nsfw_score_opennsfw2", "nsfw_score_gantman",
                  "watermark_score", "aesthetic_score_laion_v2"]
        counts = ["text_length", "word_count", "num_tokens_bert", "num_tokens_gpt", "num_faces"]
        make = self.table(
            id=[(1 << 50) + n for n in range(100)], url="url", text="caption", width=range(100), height=range(100),
            image_phash=["fedf8061e1c3e1e1"] * 100, **{name: range(100) for name in counts},
            **{name: [n / 4 for n in range(100)] for name in scores})
        rows = self.check("COYO-700M", make, (768, 384), SMALL)
        self.assertEqual([rows[3][name] for name in ("id", "input_width", "image_phash", "watermark_score")],
                         [(1 << 50) + 3, 3, "fedf8061e1c3e1e1", 0.75])

    @needs_pyarrow
    def test_datacomp(self):
        make = self.table(
            uid=[f"{n:032x}" for n in range(100)], url="url", text="caption", original_width=range(100),
            original_height=range(100), clip_b32_similarity_score=[0.2] * 100, clip_l14_similarity_score=[0.2] * 100,
            face_bboxes=[[[0.1, 0.2, 0.3, 0.4]], []] * 50, sha256=["0" * 64] * 100)
        rows = self.check("DataComp", make, (512, 256), SMALL)
        self.assertEqual([rows[2][name] for name in ("uid", "input_original_width", "face_bboxes", "input_sha256")],
                         [f"{2:032x}", 2, [[0.1, 0.2, 0.3, 0.4]], "0" * 64])

    def test_cc3m(self):
        def make(place, urls, captions):
            lines = (f"{caption}\t{url}\n" for url, caption in zip(urls, captions, strict=True))
            (self.folder / place).write_text("".join(lines))

        self.check("CC3M", make, (256, 256), (256, 256))

    def test_cc12m(self):
        def make(place, urls, captions):
            lines = (f"{url}\t{caption}\n" for url, caption in zip(urls, captions, strict=True))
            (self.folder / place).write_text("".join(lines))

        self.check("CC12M", make, (256, 256), (256, 256))

    def test_open_images(self):
        columns = ["ImageID", "Subset", "OriginalURL", "OriginalLandingURL", "License", "AuthorProfileURL", "Author",
                   "Title", "OriginalSize", "OriginalMD5", "Thumbnail300KURL", "Rotation"]

        def make(place, urls, captions):
            with (self.folder / place).open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                for n, (url, caption) in enumerate(zip(urls, captions, strict=True)):
                    sum = base64.b64encode(hashlib.md5(picture(*SMALL if n % 10 else LARGE)).digest()).decode()
                    writer.writerow([f"{n:016x}", "train", url, "https://flickr.example/1", "https://license.example/",
                                     "https://flickr.example/2", "a, b", caption, 4096, sum, "",
                                     "90.0" if n == 3 else ""])

        rows = self.check("Open Images", make, (1024, 512), SMALL)
        self.assertEqual([rows[3][name] for name in ("key", "Author", "OriginalSize", "Rotation")],
                         [f"{3:016x}", "a, b", "4096", "90.0"])


if __name__ == "__main__":
    unittest.main()
