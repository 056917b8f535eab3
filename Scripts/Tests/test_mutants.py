"""Tests of Scripts/mutants.py."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Scripts"))

import mutants


class Copies(unittest.TestCase):
    def test_a_copy_has_every_folder_that_the_package_names(self):
        manifest = (ROOT / "Package.swift").read_text(encoding="utf-8")
        folders = {folder.name for folder in ROOT.iterdir() if folder.is_dir() and f'"{folder.name}' in manifest}
        self.assertIn("Sources", folders)
        for suite, (_, paths) in mutants.SUITES.items():
            if "Package.swift" in paths:
                self.assertLessEqual(folders, set(paths), suite)

    def test_a_test_of_the_rules_may_not_name_a_type_that_its_package_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path(folder) / "Tests/InflightCoreTests"
            for name, text in {
                "Support/Stage.swift": "final class Stage {}\n",
                "HTTP/Caching/RulesStage.swift": "struct RulesStage {}\n",
                "HTTP/Caching/Alias.swift": "typealias Stage = RulesStage\nlet stage = Stage()\n",
                "HTTP/Retry/Test.swift": "let stage = Stage()\n",
            }.items():
                (tests / name).parent.mkdir(parents=True, exist_ok=True)
                (tests / name).write_text(text, encoding="utf-8")
            problems = list(mutants.strangers(pathlib.Path(folder)))
        self.assertEqual(len(problems), 1)
        self.assertIn("HTTP/Retry/Test.swift uses Stage", problems[0])


if __name__ == "__main__":
    unittest.main()
