"""Tests of Scripts/mutants.py."""

import pathlib
import sys
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


if __name__ == "__main__":
    unittest.main()
