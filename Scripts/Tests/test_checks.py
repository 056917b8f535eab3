"""The checks of `make lint` report violations, and nothing else."""

import importlib.util
import pathlib
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


imports = load("check-imports")
files = load("check-files")
mutants = load("mutants")


class Imports(unittest.TestCase):
    def lines(self, target, text):
        return [line for line, _ in imports.problems_in(target, text)]

    def test_what_a_target_may_import_is_no_problem(self):
        text = "internal import InflightCore\n#if canImport(Glibc)\n    internal import Glibc\n#endif\nimport CInflightCurl\n"
        self.assertEqual(self.lines("InflightCurl", text), [])

    def test_an_arrow_that_points_back_is_found(self):
        self.assertEqual(self.lines("InflightCore", "// why\nimport Inflight\n"), [2])

    def test_back_ends_do_not_import_one_another(self):
        self.assertEqual(self.lines("InflightCurl", "public import class InflightCodecs.Decoder\n"), [1])

    def test_a_c_target_is_not_imported_publicly(self):
        for keyword in ["public", "package", "@_exported public"]:
            self.assertEqual(self.lines("InflightCurl", f"{keyword} import CInflightCurl\n"), [1], keyword)

    def test_the_engine_does_without_foundation_where_its_small_part_exists(self):
        small = "#if canImport(FoundationEssentials)\n    public import FoundationEssentials\n#else\n"
        self.assertEqual(self.lines("InflightCore", small + "    public import Foundation\n#endif\n"), [])
        self.assertEqual(self.lines("InflightCore", "public import Foundation\n"), [1])
        self.assertEqual(self.lines("InflightCore", small + "#endif\nimport Foundation\n"), [5])

    def test_a_product_lists_the_modules_that_its_own_import_publicly(self):
        manifest = """let images = ["Pixels"]
let engine = ["Core"] + images
        .library(name: "Core", targets: engine),
        .library(name: "Whole", targets: ["Whole", "Disk"] + engine),
        .library(name: "Disk", targets: ["Disk"]),
"""
        public = {"Whole": {"Disk", "Core"}, "Core": {"Pixels"}, "Disk": {"Core"}}
        self.assertEqual(list(imports.incomplete_products(manifest, public)), [(5, "product Disk does not list Core")])

    def test_no_part_of_the_engine_or_the_command_imports_the_patterns(self):
        for target in imports.ALLOWED.keys() - {"InflightLab"}:
            self.assertEqual(self.lines(target, "internal import InflightPatterns\n"), [1], target)

    def test_the_patterns_import_the_kit_and_neither_foundation_nor_the_engine(self):
        self.assertEqual(self.lines("InflightPatterns", "@_exported public import InflightConcurrency\n"), [])
        for module in ["Foundation", "FoundationEssentials", "InflightCore"]:
            self.assertEqual(self.lines("InflightPatterns", f"import {module}\n"), [1], module)

    def test_a_target_that_nobody_thought_of_is_found(self):
        self.assertEqual(self.lines("Other", ""), [1])

    def test_every_target_has_its_row(self):
        targets = {path.name for path in (SCRIPTS.parent / "Sources").glob("*/*") if any(path.rglob("*.swift"))}
        self.assertEqual(targets - set(imports.ALLOWED), set())


class Files(unittest.TestCase):
    def lines(self, content, name="a.swift"):
        if isinstance(content, str):
            content = content.encode()
        return sorted(line for line, _ in files.problems_in(name, content))

    def test_tidy_text_is_no_problem(self):
        self.assertEqual(self.lines("let path = \"/sys/fs\"  // why\n\nlet n = 1\n"), [])
        self.assertEqual(self.lines(""), [])

    def test_wide_comments_and_prose_are_found(self):
        wide = "word " * 24 + "w"
        self.assertEqual(self.lines(f"// {wide}\n    /// {wide}\nlet text = \"{wide}\"\n"), [1, 2])
        self.assertEqual(self.lines(f"{wide}\n| {wide} |\n```\n{wide}\n```\n{wide}\n", "a.md"), [1, 6])
        self.assertEqual(self.lines(f"// {wide}\n", "Examples/Sources/a/main.swift"), [])

    def test_untidy_text_is_found(self):
        self.assertEqual(self.lines("a \nb\r\n\tc\nd"), [1, 2, 3, 4])
        self.assertEqual(self.lines("a\n\n"), [2])
        self.assertEqual(self.lines("all:\n\tmake\n", "Makefile"), [])

    def test_binaries_are_found(self):
        self.assertEqual(self.lines(b"\x89PNG\0\n"), [1])
        self.assertEqual(self.lines(b"\xff\n"), [1])
        self.assertEqual(self.lines(b"a" * files.LARGEST + b"\n"), [1])

    def test_home_folders_and_registries_are_found(self):
        for folder in ["ho" + "me/ann/x", "Us" + "ers/ann", "ro" + "ot/x"]:
            self.assertEqual(self.lines(f"see /{folder}\n"), [1], folder)
        self.assertEqual(self.lines("see https://py" + "pi.org/simple\n"), [1])
        self.assertEqual(self.lines("see https://example.com/home/page and /rooted\n"), [])

    def test_every_unchecked_promise_needs_its_reason(self):
        line = "final class A: @unchecked Sendable {}"
        self.assertEqual(self.lines(f"{line}\n"), [1])
        self.assertEqual(self.lines(f"/// A class.\n{line}\n"), [2])
        self.assertEqual(self.lines(f"//\n{line}\n"), [2])
        self.assertEqual(self.lines(f"{line}  // guarded by its lock\n"), [])
        self.assertEqual(self.lines(f"// Guarded by its lock.\n{line}\n"), [])
        opened = "final class A: @unchecked Sendable {"
        self.assertEqual(self.lines(f"{opened}\n    // Guarded by its lock.\n}}\n"), [])
        self.assertEqual(self.lines(f"{opened}\n    /// A value.\n}}\n"), [1])
        self.assertEqual(self.lines(opened + "\n"), [1])
        self.assertEqual(self.lines("nonisolated(unsafe) var a = 1\n// Another thing.\n"), [1])
        self.assertEqual(self.lines("/// Not `nonisolated(unsafe)`.\n"), [])

    def test_a_continuation_that_the_thread_sanitizer_does_not_understand_is_found(self):
        line = "await withCheckedContinuation { $0.resume() }\n"
        self.assertEqual(self.lines(line, "Tests/A/a.swift"), [1])
        self.assertEqual(self.lines("try await withUnsafeThrowingContinuation(f)\n"), [1])
        self.assertEqual(self.lines("// Not withCheckedContinuation.\n"), [])
        self.assertEqual(self.lines(line, "Examples/Sources/a/main.swift"), [])
        self.assertEqual(self.lines(line, "Sources/Kit/InflightConcurrency/Bridges/Bridge.swift"), [])

    def test_a_version_that_differs_from_the_changelog_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, form in files.STATED.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(form.format(version="1.2.0", date="2030-02-01", written="February 1, 2030"))
            for section, wrong in [
                ("## Unreleased\n\n## 1.2.0 (2030-02-01)\n\n## 1.1.0 (2030-01-01)\n", 0),
                ("## 1.2.0 (2030-02-02)\n", 3), ("## 1.2.1 (2030-02-01)\n", 3), ("## Unreleased\n", 1),
            ]:
                (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{section}")
                self.assertEqual(len(list(files.version_problems(root))), wrong, section)

    def test_another_maintainer_or_homepage_than_that_of_the_packages_is_found(self):
        names = {"maintainer": "A B", "mail": "a@example.org", "homepage": "https://a.example/"}
        texts = {name: f"x\n{form.format(**names)}y\n" for name, form in files.NAMED.items()}
        texts[files.CONTROL] = "Maintainer: A B <a@example.org>\nHomepage: https://a.example/\n"
        self.assertEqual(list(files.name_problems(texts)), [])
        for old, new, wrong in [("a.example/", "b.example/", 3), ("A B", "B", 3), ("Homepage", "X", 1)]:
            control = texts[files.CONTROL].replace(old, new)
            self.assertEqual(len(list(files.name_problems({**texts, files.CONTROL: control}))), wrong, old)

    def test_the_page_of_the_contract_and_its_suites_agree(self):
        def problems(page, **texts):
            texts = {f"Tests/A/{name}.swift": text for name, text in texts.items()}
            return [problem for _, problem in files.contract_problems(page, texts)]

        page = "".join(f"## {number}. Rule\n\n*Proof.* `Rule{number}Tests`\n" for number in files.RULES)
        suites = "".join(f'@Suite("Contract {number}: a rule")\nstruct Rule{number}Tests {{\n' for number in files.RULES)
        self.assertEqual(problems(page, suites=suites), [])
        self.assertEqual(problems(page + "## 13. Rule\n", suites=suites),
                         ["its headings are not the rules 1 to 12, in order"])
        self.assertEqual(problems(page + "`GoneTests`", suites=suites), ["there is no suite GoneTests"])
        other = '@Suite("Contract 4: more")\nfinal class MoreTests: Base {\n'
        self.assertEqual(problems(page, suites=suites, other=other),
                         ["Documentation/Contract.md does not name MoreTests as a proof of rule 4"])
        self.assertEqual(problems(page, suites=suites, other="// contract 1" + "3"), ["the contract has no rule 13"])


class Mutants(unittest.TestCase):
    def problems(self, *edits):
        mutant = {"fault": "A fault is made.", "table": "t", "file": "a", **edits[0], "also": edits[1:]}
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a").write_text("one two two\n")
            self.texts = {}
            problems = list(mutants.problems_in({"m": mutant}, pathlib.Path(folder)))
            if not problems:
                self.texts = mutants.mutated(mutant, pathlib.Path(folder))
        return problems

    def test_a_text_must_occur_exactly_once(self):
        self.assertEqual(self.problems({"find": "one "}), [])
        self.assertEqual(self.texts, {"a": "two two\n"})
        self.assertIn("0 times", self.problems({"find": "three"})[0])
        self.assertIn("2 times", self.problems({"find": "two"})[0])
        self.assertIn("No such file", self.problems({"find": "one", "file": "b"})[0])

    def test_every_fault_is_described_once_in_its_suite(self):
        for fault in ["", "fault", "A fault is made"]:
            self.assertIn("must be a sentence", self.problems({"find": "one ", "fault": fault})[0])
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a").write_text("one\n")
            same = {"fault": "A fault is made.", "table": "t", "file": "a", "find": "one", "suite": "rules"}
            for suite, count in [("rules", 1), ("views", 0)]:
                both = {"a": same, "b": {**same, "suite": suite}}
                self.assertEqual(len(list(mutants.problems_in(both, pathlib.Path(folder)))), count)

    def test_edits_are_applied_in_turn(self):
        self.assertEqual(self.problems({"find": "one two", "replace": "1"}, {"find": "two", "replace": "2"}), [])
        self.assertEqual(self.texts, {"a": "1 2\n"})


if __name__ == "__main__":
    unittest.main()
