"""The documents agree with the code: examples, error codes, make targets and links."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def source(*parts):
    return ROOT.joinpath("Sources", *parts).read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_its_first_swift_is_the_example_that_is_compiled(self):
        block = re.search(r"^```swift\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
        example = ROOT / "Examples" / "Sources" / "first-picture" / "main.swift"
        self.assertEqual(block, example.read_text(encoding="utf-8"))

    def test_the_program_of_the_views_is_the_one_that_is_started(self):
        article = (ROOT / "Documentation" / "GettingStarted.md").read_text(encoding="utf-8")
        block = re.search(r"^```swift\n(import CInflightGTK.*?)^```$", article, re.MULTILINE | re.DOTALL)[1]
        shown = (ROOT / "GTK" / "Sources" / "ArticleProgram" / "main.swift").read_text(encoding="utf-8")
        self.assertTrue(shown.endswith(block))

    def test_the_error_page_lists_every_code_and_no_other(self):
        text = (ROOT / "Documentation" / "Errors.md").read_text(encoding="utf-8")
        declared = re.findall(r'static let \w+ = Self\(rawValue: "(\w+)"\)', source("Engine", "InflightImages", "Values", "LoadError.swift"))
        listed = re.findall(r"^\| `(\w+)` \|", text.split("\n## Codes\n")[1], re.MULTILINE)
        self.assertEqual(listed, declared)

    def test_its_make_targets_exist(self):
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        documents = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        named = set(re.findall(r"\bmake ([a-z-]+)\b(?= *(?:`|#|PREFIX|$))", documents, re.MULTILINE))
        self.assertTrue(named)
        self.assertEqual(named - targets, set())


class Links(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        for document in [*ROOT.glob("*.md"), *ROOT.glob("Documentation/**/*.md"), *ROOT.glob("Examples/*.md")]:
            text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            for target in re.findall(r"\]\(([^)#]+)", text):
                if "://" not in target:
                    self.assertTrue((document.parent / target).exists(), f"{document.name}: {target}")

    def test_every_example_is_in_the_index(self):
        index = (ROOT / "Examples" / "README.md").read_text(encoding="utf-8")
        for example in (ROOT / "Examples" / "Sources").iterdir():
            self.assertIn(f"(Sources/{example.name}/main.swift)", index)

    def test_every_decision_is_in_the_index(self):
        index = (ROOT / "Documentation" / "README.md").read_text(encoding="utf-8")
        for decision in (ROOT / "Documentation" / "Decisions").glob("*.md"):
            self.assertIn(f"(Decisions/{decision.name})", index)


if __name__ == "__main__":
    unittest.main()
