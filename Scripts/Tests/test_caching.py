"""The tests listed in Documentation/Caching.md exist, and a mutant makes each of them fail."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Scripts"))
import mutants  # noqa: E402

TESTS = {
    name
    for folder in ["Caching", "Retry"]
    for path in (ROOT / "Tests" / "InflightCoreTests" / "HTTP" / folder).glob("*.swift")
    for name in re.findall(r'@Test\(\s*"([^"]*)"', path.read_text(encoding="utf-8"))
}
CITING = {name for name in TESTS if name.startswith("RFC ")}


class Caching(unittest.TestCase):
    def test_the_tables_name_tests_that_exist_and_leave_out_none_that_cites_a_section(self):
        text = (ROOT / "Documentation" / "Caching.md").read_text(encoding="utf-8")
        rows = text.split("\n## Requirements and tests\n")[1].split("\n## ")[0].splitlines()
        named = {name for row in rows if row.startswith("| ") for name in re.findall(r"`([^`]+)`", row.split("|")[3])}
        self.assertTrue(named)
        self.assertEqual(named - TESTS, set())
        self.assertEqual(CITING - named, set())

    def test_each_test_that_cites_a_section_finds_a_mutant(self):
        named = set()
        for name, mutant in mutants.read_tables().items():
            if mutant["suite"] == "rules":
                self.assertTrue(mutant["tests"], name)
                self.assertEqual(set(mutant["tests"]) - TESTS, set(), name)
                named |= set(mutant["tests"])
        self.assertEqual(CITING - named, set())


if __name__ == "__main__":
    unittest.main()
