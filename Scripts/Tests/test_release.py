"""`Scripts/release.sh` refuses what cannot be released, and the packaging lists every library that is linked."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "Scripts").mkdir()
        shutil.copy(ROOT / "Scripts" / "release.sh", self.folder / "Scripts")
        (self.folder / "Scripts" / "check-files.py").write_text("#!/bin/sh\n")
        (self.folder / "Scripts" / "check-files.py").chmod(0o755)

    def release(self, argument, changelog):
        (self.folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
        return subprocess.run(
            [self.folder / "Scripts" / "release.sh", argument], capture_output=True, text=True, timeout=60)

    def commit(self):
        git = ["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"]):
            subprocess.run(git + arguments, check=True)

    def test_the_version_is_the_newest_of_the_changelog(self):
        done = self.release("--version", "## Unreleased\n\n## 1.2.0 (2030-02-01)\n\n## 1.1.0 (2030-01-01)\n")
        self.assertEqual(done.stdout, "1.2.0\n")
        self.assertIn("no section of a version", self.release("--version", "## Unreleased\n").stderr)

    def test_the_news_have_no_links_to_files_that_packages_do_not_have(self):
        text = "## 1.2.0 (2030-02-01)\n\n- A ([bulk\n  downloads](Documentation/Batch.md#a), [b](c.md)): `x[1]`, `f(_:)`.\n" \
            "- [Site](https://a.example/).\n"
        self.assertEqual(self.release("--news", text).stdout.partition("\n\n")[2],
                         "## 1.2.0 (2030-02-01)\n\n- A (bulk\n  downloads, b): `x[1]`, `f(_:)`.\n"
                         "- [Site](https://a.example/).\n")
        news = subprocess.run([ROOT / "Scripts" / "release.sh", "--news"], capture_output=True, text=True, check=True)
        self.assertEqual(re.findall(r"\]\((?!https:)[^)]*\)", news.stdout), [])
        self.assertIn("bulk downloads", news.stdout)

    def test_changes_and_an_unreleased_section_are_refused(self):
        released = "## 1.2.0 (2030-02-01)\n"
        self.release("--version", released)
        self.commit()
        self.assertEqual(self.release("--check", released).returncode, 0)
        self.assertIn("has changes", self.release("--check", released + "\nmore\n").stderr)
        self.release("--version", "## Unreleased\n\n" + released)
        self.commit()
        refused = self.release("--check", "## Unreleased\n\n" + released)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("unreleased changes", refused.stderr)


class Packages(unittest.TestCase):
    def test_build_depends_are_the_packages_that_deps_installs(self):
        rows = [line.split("|") for line in (ROOT / "Scripts" / "deps.sh").read_text().splitlines()]
        installed = {row[1] for row in rows if row[0] in ("build", "vips", "gtk") and row[1].endswith("-dev")}
        control = (ROOT / "Packaging" / "debian" / "control").read_text()
        required = set(re.findall(r"^ ([a-z0-9.+-]+-dev)", control.partition("\n\n")[0], re.MULTILINE))
        # Only checks of the views use the X test extension. The test kit links OpenSSL.
        self.assertEqual(required, installed - {"libxtst-dev"} | {"libssl-dev"})


if __name__ == "__main__":
    unittest.main()
