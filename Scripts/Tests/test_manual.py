"""The man pages and completions of the built command, each read by mandoc or the shell that it is for.

`make test` sets INFLIGHT to the path of the command. If unset, the newest debug build in .build is used.
"""

import os
import pathlib
import pty
import re
import select
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILT = sorted(
    [*ROOT.glob(".build/debug/inflight"), *ROOT.glob(".build/*/debug/inflight")], key=lambda path: path.stat().st_mtime)
INFLIGHT = os.environ.get("INFLIGHT") or (str(BUILT[-1]) if BUILT else None)

FITS = ["contain", "cover", "exact", "fill", "outside", "pad"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def inflight(*arguments):
    return subprocess.run([INFLIGHT, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=60)


def commands():
    return re.findall(r"^\.It Xr inflight-(\S+) 1$", inflight("man").stdout, re.MULTILINE)


def options(command):
    """The options in the help of a command: from lines that begin with one, and `--version` from the last line."""
    listed = re.findall(r"^  (--?[a-z0-9-]+)", inflight(command, "--help").stdout, re.MULTILINE)
    return sorted(listed + ["--version"])


@unittest.skipUnless(INFLIGHT, "no built command: run `make test`, or `swift build` first")
class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Pages(Manual):
    def test_every_page_is_clean_mdoc_in_ascii(self):
        pages = {"inflight": inflight("man").stdout}
        pages |= {f"inflight-{command}": inflight("man", command).stdout for command in commands()}
        files = {name: f"{name}.1" for name in pages} | {"inflight-batch.5": "inflight-batch.5"}
        pages["inflight-batch.5"] = inflight("man", "batch.5").stdout
        self.assertIn("inflight-get", pages)
        for name, page in pages.items():
            self.assertTrue(page.isascii(), name)
            file = self.folder / files[name]
            file.write_text(page, encoding="ascii")
            lint = subprocess.run(
                ["mandoc", "-Tlint", "-Wstyle", file.name], cwd=self.folder, capture_output=True, text=True, timeout=60)
            # The other pages need not be installed on this machine.
            problems = [line for line in lint.stdout.splitlines() if "referenced manual not found" not in line]
            self.assertEqual(problems, [], name)
            self.assertLessEqual(set(re.findall(r"^\.(?:It )?Xr (\S+)", page, re.MULTILINE)), set(pages))

    def test_a_page_does_not_depend_on_the_clock(self):
        first = inflight("man", "get").stdout
        self.assertRegex(first, r"\A\.Dd [A-Z][a-z]+ \d+, \d{4}\n\.Dt INFLIGHT-GET 1\n\.Os \"inflight \d")
        self.assertEqual(first, inflight("man", "get").stdout)

    def test_the_page_of_the_output_has_every_file_and_column_of_the_article(self):
        page = inflight("man", "batch.5").stdout
        article = (ROOT / "Documentation" / "Batch.md").read_text(encoding="utf-8")
        # The files of other layouts are the Python package's.
        layouts = article[article.index("### Parquet and TFRecord"):article.index("## Resuming")]
        article = article.replace(layouts, "")
        columns = article.partition("| column | value |")[2].partition("\n\n")[0]
        names = [name for row in columns.splitlines()[2:-1] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
        self.assertEqual(re.findall(r"(?m)^\.It Va (\w+)$", page.partition(".Ss Statistics")[0]), names)
        self.assertIn("error_class", names)
        for name in {"00000.tar", *re.findall(r"`(00000[._]\S+)` \|", article), *re.findall(r"`DIR/([\w.]+)`", article)}:
            self.assertRegex(page, rf"(?m)^\.It Pa {re.escape(name)}$")

    def test_a_rendered_page_has_every_option_with_its_text(self):
        for command in commands():
            page = inflight("man", command).stdout
            rendered = subprocess.run(
                ["mandoc", "-Tutf8", "-Owidth=80"], input=page, capture_output=True, text=True,
                encoding="utf-8", timeout=60).stdout
            rendered = re.sub(".\b", "", rendered)
            for option in options(command):
                self.assertRegex(rendered, rf"(?m)^ +.*{option}\b", command)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
                self.assertRegex(rendered, rf"(?m)^{section}$", command)
            self.assertLessEqual(max(map(len, rendered.splitlines())), 80, command)


class Errors(Manual):
    def test_an_unknown_name_is_a_usage_error_that_lists_the_choices(self):
        for arguments, text in [
            (["completions", "tcsh"], '"tcsh". Shells: bash, zsh and fish.'),
            (["completions"], "No shell given. Specify bash, zsh or fish."),
            (["completions", "bash", "zsh"], '"zsh"'),
            (["man", "gett"], f'"gett". Commands: {", ".join(commands()[:-1])} and {commands()[-1]}.'),
            (["man", "get", "info"], '"info"'),
        ]:
            result = inflight(*arguments)
            self.assertEqual((result.returncode, result.stdout), (64, ""), arguments)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertIn(text, result.stderr)


class Installation(Manual):
    def test_writes_man_pages_and_completions(self):
        binaries, prefix = self.folder / "bin", self.folder / "prefix"
        binaries.mkdir()
        for name in ("inflight", "inflight-decoder", "inflight-decoder-vips", "inflight-lab"):
            # A script, because install.sh refuses binaries that link Swift's shared libraries, as debug builds do.
            (binaries / name).write_text(f'#!/bin/sh\nexec "{INFLIGHT}" "$@"\n')
        subprocess.run([ROOT / "Scripts" / "install.sh", binaries, prefix], check=True, capture_output=True, timeout=60)
        share = prefix / "share"
        installed = {str(path.relative_to(share)): path for path in share.rglob("*") if path.is_file()}
        pages = {"inflight": ["man"]} | {f"inflight-{command}": ["man", command] for command in commands()}
        expected = {f"man/man1/{name}.1": arguments for name, arguments in pages.items()} | {
            "man/man5/inflight-batch.5": ["man", "batch.5"],
            "bash-completion/completions/inflight": ["completions", "bash"],
            "zsh/site-functions/_inflight": ["completions", "zsh"],
            "fish/vendor_completions.d/inflight.fish": ["completions", "fish"],
        }
        self.assertEqual(set(installed), set(expected))
        for name, arguments in expected.items():
            self.assertEqual(installed[name].read_text(encoding="utf-8"), inflight(*arguments).stdout, name)
            self.assertEqual(installed[name].stat().st_mode & 0o777, 0o644)


class Completions:
    """The expected suggestions in every shell. A subclass returns those for the last word of a line, sorted."""

    def setUp(self):
        super().setUp()
        (self.folder / "in a list.txt").touch()
        (self.folder / "in folder").mkdir()
        self.prepare(inflight("completions", self.shell).stdout)

    def prepare(self, script):
        (self.folder / "script").write_text(script, encoding="utf-8")

    def test_commands_complete(self):
        self.assertEqual(self.complete("inflight c"), ["cache", "completions"])
        self.assertEqual(self.complete("inflight "), sorted(commands()))

    def test_the_options_of_each_command_complete(self):
        for command in commands():
            self.assertEqual(self.complete(f"inflight {command} --"), [o for o in options(command) if o[:2] == "--"])
        self.assertEqual(self.complete("inflight lab --s"), ["--svg"])

    def test_fixed_values_complete(self):
        self.assertEqual(self.complete("inflight get --fit "), FITS)
        self.assertEqual(self.complete("inflight get --cache-policy pre"), ["prefer-cached"])
        self.assertEqual(self.complete("inflight show --colors "), ["256", "auto", "none", "truecolor"])
        self.assertEqual(self.complete("inflight get --require-protection "), ["landlock", "namespaces"])

    def test_a_value_in_the_same_word_completes(self):
        for line, expected in [("inflight get --fit=co", FITS[:2]), ("inflight get --fit=", FITS)]:
            self.assertEqual([value.removeprefix("--fit=") for value in self.complete(line)], expected)

    def test_arguments_complete(self):
        self.assertEqual(self.complete("inflight cache "), ["clear", "list", "stat", "verify"])
        self.assertEqual(self.complete("inflight completions "), ["bash", "fish", "zsh"])
        self.assertEqual(self.complete("inflight man "), sorted([*commands(), "batch.5"]))
        self.assertEqual(self.complete("inflight lab --json seri"), ["serial"])

    def test_actions_complete_as_the_first_argument_and_then_folders(self):
        self.assertEqual(self.complete("inflight batch re"), ["retry"])
        self.assertEqual(self.complete("inflight batch sta"), ["status"])
        self.assertEqual(self.complete("inflight batch in"), ["in a list.txt", "in folder"])
        self.assertEqual(self.complete("inflight batch verify in"), ["in folder"])
        self.assertEqual(self.complete("inflight batch script in"), ["in a list.txt", "in folder"])

    def test_files_complete_where_a_file_is_expected(self):
        both = ["in a list.txt", "in folder"]
        self.assertEqual(self.complete("inflight get -i in"), both)
        self.assertEqual(self.complete("inflight info in"), both)
        self.assertEqual(self.complete("inflight get --cacert in"), both)
        self.assertEqual(self.complete("inflight cache --cache in"), ["in folder"])

    def test_nothing_completes_where_any_text_is_expected(self):
        for line in ["get --size ", "get --header-for in", "get --header-for localhost in", "get in", "gett in"]:
            self.assertEqual(self.complete(f"inflight {line}"), [], line)

    def test_the_word_after_a_value_is_no_value(self):
        self.assertEqual(self.complete("inflight lab --svg x --li"), ["--list"])
        self.assertEqual(self.complete("inflight lab --svg --list seri"), ["serial"])


class InTerminal(Completions):
    """A shell in a terminal. Tab inserts all suggestions, and Return then calls a function that prints them."""

    def setUp(self):
        super().setUp()
        child, self.terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe(self.command[0], self.command, ENVIRONMENT | {"PS1": "READY> ", "HOME": str(self.folder)})
        self.addCleanup(os.waitpid, child, 0)
        # The shell ends when its terminal is closed.
        self.addCleanup(os.close, self.terminal)
        self.read_until("READY> ")
        for line in [*self.preparation, """inflight() { printf '\\n<%s>' "$@"; printf '\\n'; }"""]:
            self.type(line + "\n")

    def read_until(self, text):
        seen = ""
        while not seen.endswith(text):
            if not select.select([self.terminal], [], [], 60)[0]:
                self.fail(f"the shell does not respond: {seen!r}")
            seen += os.read(self.terminal, 4096).decode()
        return seen

    def type(self, text):
        os.write(self.terminal, text.encode())
        return self.read_until("READY> ")

    def complete(self, line):
        words = re.findall(r"^<(.*)>\r$", self.type(f"{line}\t\n"), re.MULTILINE)
        typed = line.split(" ")[1:]
        return sorted(word.rstrip("=/") for word in words[len(typed) - 1:] if word != typed[-1])


class Bash(InTerminal, Manual):
    shell = "bash"
    command = ["bash", "--norc", "--noprofile", "-i"]
    preparation = [
        "bind 'set enable-bracketed-paste off'", """bind '"\\t": insert-completions'""", "source ./script",
    ]


class Zsh(InTerminal, Manual):
    shell = "zsh"
    command = ["zsh", "-f", "-i", "+Z", "+o", "prompt_sp", "+o", "prompt_cr"]
    preparation = [
        "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D",
        "zstyle ':completion:*' completer _all_matches _complete; zstyle ':completion:*' insert yes",
        "unset zle_bracketed_paste; setopt zle",
    ]

    def prepare(self, script):
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_inflight").write_text(script, encoding="utf-8")
        super().prepare(script)

    def test_the_script_may_be_sourced_instead_of_installed(self):
        self.type("unfunction _inflight; source ./script\n")
        self.assertEqual(self.complete("inflight get --fit "), FITS)


class Fish(Completions, Manual):
    shell = "fish"

    def complete(self, line):
        shown = subprocess.run(
            ["fish", "--no-config", "-c", 'source ./script; complete -C "$argv"', line], cwd=self.folder,
            env=ENVIRONMENT | {"HOME": str(self.folder)}, capture_output=True, text=True, check=True, timeout=60).stdout
        return sorted(line.split("\t")[0].rstrip("/").replace("\\ ", " ") for line in shown.splitlines())


if __name__ == "__main__":
    unittest.main()
