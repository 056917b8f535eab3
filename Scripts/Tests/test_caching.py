"""What Documentation/Caching.md says is tested is tested, and each test can fail."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
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
        rows = text.split("\n## Requirements and tests\n")[1].splitlines()
        named = {name for row in rows if row.startswith("| ") for name in re.findall(r"`([^`]+)`", row.split("|")[3])}
        self.assertTrue(named)
        self.assertEqual(named - TESTS, set())
        self.assertEqual(CITING - named, set())

    def test_each_test_that_cites_a_section_fails_by_a_rule_that_is_taken_out(self):
        named = set()
        for patch in (ROOT / "Scripts" / "Faults" / "Caching").glob("*.patch"):
            tests = set(re.findall(r"^Test: (.*)$", patch.read_text(encoding="utf-8"), re.MULTILINE))
            self.assertTrue(tests, patch.name)
            self.assertEqual(tests - TESTS, set(), patch.name)
            named |= tests
        self.assertEqual(CITING - named, set())


if __name__ == "__main__":
    unittest.main()
