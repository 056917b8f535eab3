"""The corpora of `make fuzz`: bytes encoded as text, one corpus per target."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Scripts"))
import fuzz  # noqa: E402


class Seeds(unittest.TestCase):
    def test_a_line_stands_for_the_bytes_that_it_was_made_of(self):
        for data in [bytes(range(256)), b" a ", b"\\x41\\", b"\r\n\t", b"x" * 300]:
            line = fuzz.line_of(data)
            self.assertEqual(fuzz.bytes_of(line), data)
            self.assertTrue(line.isascii() and line.isprintable() and line == line.strip())

    def test_each_target_has_seeds_and_is_in_the_table(self):
        source = (ROOT / "Fuzzing" / "Sources" / "InflightFuzz").rglob("*.swift")
        text = "\n".join(path.read_text(encoding="utf-8") for path in source)
        targets = re.findall(
            r'Target\(name: "([a-z-]+)"|\.(?:coding|header)\("([a-z-]+)"\)|\.picture\(\.([a-z]+)\)', text)
        names = {"".join(groups) for groups in targets}
        self.assertTrue(names)
        self.assertEqual({path.stem for path in fuzz.SEEDS.glob("*.txt")}, names)
        section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Fuzzing\n")[1].split("\n## ")[0]
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        self.assertEqual(set(re.findall(r"`([a-z-]+)`", "".join(rows))), names)

    def test_the_seeds_are_what_a_line_would_be_made_of_them(self):
        for path in fuzz.SEEDS.glob("*.txt"):
            lines = path.read_text(encoding="ascii").splitlines()
            self.assertEqual([fuzz.line_of(data) for data in fuzz.seeds_of(path)], lines, path.name)


if __name__ == "__main__":
    unittest.main()
