"""`Scripts/deps.sh` on several kinds of machines, simulated by commands that only log their arguments."""

import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

DEPS = pathlib.Path(__file__).resolve().parent.parent / "deps.sh"
# The commands of a minimal system.
TOOLS = ["bash", "cat", "sed", "grep", "env", "sh"]


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        self.log = self.bin / "log"
        self.log.touch()
        for tool in TOOLS:
            for place in os.environ["PATH"].split(os.pathsep) + ["/usr/bin", "/bin"]:
                if os.access(pathlib.Path(place) / tool, os.X_OK):
                    (self.bin / tool).symlink_to(pathlib.Path(place) / tool)
                    break

    def command(self, name, body=""):
        path = self.bin / name
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "{name} $*" >> "{self.log}"\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_deps(self, *groups):
        result = subprocess.run(
            [str(self.bin / "bash"), str(DEPS), *groups], env={"PATH": str(self.bin)}, capture_output=True, text=True,
            timeout=60,
        )
        return result, self.log.read_text().splitlines()

    def packages(self):
        rows = [line.split("|") for line in DEPS.read_text().splitlines() if line.startswith(("build|", "test|"))]
        return [row[1] for row in rows]

    def installed(self, packages):
        lines = "\n".join(f"installed {package}" for package in packages)
        self.command("dpkg-query", f'printf "%s\\n" "{lines}"')

    def test_does_nothing_when_all_is_there(self):
        self.installed(self.packages())
        self.command("apt-get")
        result, calls = self.run_deps("build", "test")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call for call in calls if not call.startswith("dpkg-query")], [])

    def test_installs_just_what_is_missing_and_says_why(self):
        self.installed([package for package in self.packages() if package != "libpng-dev"])
        self.command("id", "echo 0")
        self.command("apt-get")
        result, calls = self.run_deps("build")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libpng-dev is missing: PNG", result.stdout)
        self.assertEqual(
            [call for call in calls if call.startswith("apt-get") and "--simulate" not in call],
            ["apt-get install -y -qq --no-install-recommends libpng-dev"],
        )

    def test_a_package_that_was_removed_but_not_purged_is_missing(self):
        self.command("dpkg-query", "echo config-files libpng-dev")
        self.command("id", "echo 0")
        self.command("apt-get")
        result, _ = self.run_deps("build")
        self.assertIn("libpng-dev is missing", result.stdout)

    def test_brings_the_list_of_packages_up_to_date_only_where_it_must(self):
        self.installed([])
        self.command("id", "echo 0")
        self.command("apt-get", f'case "$*" in *--simulate*) exit 100 ;; esac')
        result, calls = self.run_deps("build")
        self.assertEqual(result.returncode, 0, result.stderr)
        apt = [call for call in calls if call.startswith("apt-get") and "--simulate" not in call]
        self.assertEqual(apt[0], "apt-get update -qq")
        self.assertEqual(len(apt), 2)

    def test_goes_through_sudo_when_not_root(self):
        self.installed([])
        self.command("id", "echo 1000")
        self.command("apt-get")
        self.command("sudo", '"$@"')
        result, calls = self.run_deps("build")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(any(call.startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get install") for call in calls))

    def test_says_what_to_run_where_there_is_no_sudo(self):
        self.installed([])
        self.command("id", "echo 1000")
        self.command("apt-get")
        result, _ = self.run_deps("build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("run as root: apt-get install libcurl4-openssl-dev", result.stderr)

    def test_stops_with_an_error_when_apt_fails(self):
        self.installed([])
        self.command("id", "echo 0")
        self.command("apt-get", "exit 100")
        result, _ = self.run_deps("build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get failed", result.stderr)

    def test_names_the_libraries_where_there_is_no_apt(self):
        self.command("clang", "exit 1")
        result, _ = self.run_deps("build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing: libjpeg-turbo, with its headers", result.stdout)
        self.assertIn("has no apt-get", result.stderr)

    def test_is_content_without_apt_where_the_headers_are_found(self):
        self.command("clang")
        self.command("pkg-config")
        result, _ = self.run_deps("build")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_asks_python_for_its_modules_where_there_is_no_dpkg(self):
        self.command("clang")
        for tool in ("nginx", "pkg-config", "openssl", "curl", "valgrind", "vipsthumbnail"):
            self.command(tool)
        self.command("python3", 'case "$*" in *aiohttp*) exit 1 ;; esac')
        result, calls = self.run_deps("bench")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(
            [line for line in result.stdout.splitlines() if "missing" in line],
            ["deps: missing: aiohttp, with its headers if it is a library "
             "(a peer: from URLs to thumbnails, with Pillow)"])
        self.assertIn("python3 -c import PIL", calls)

    def test_the_browser_is_installed_for_the_report_alone(self):
        self.installed(self.packages())
        self.command("id", "echo 0")
        self.command("apt-get")
        result, calls = self.run_deps("build", "test")
        self.assertEqual([call for call in calls if call.startswith("apt-get")], [])
        result, calls = self.run_deps("report")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("chromium is missing: tests of the page of --report", result.stdout)
        self.assertIn(
            "apt-get install -y -qq --no-install-recommends chromium nodejs node-har-validator", calls)

    def test_the_browser_is_found_as_a_command_where_there_is_no_dpkg(self):
        self.command("clang")
        result, _ = self.run_deps("report")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing: Chromium", result.stdout)
        self.command("chromium")
        self.command("node")
        result, _ = self.run_deps("report")
        self.assertNotIn("Chromium", result.stdout)
        self.assertNotIn("Node.js", result.stdout)

    def test_wants_a_group(self):
        result, _ = self.run_deps()
        self.assertEqual(result.returncode, 64)


if __name__ == "__main__":
    unittest.main()
