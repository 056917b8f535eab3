"""The documentation site: completed links, DocC diagnostics that fail the build, and dead links."""

import importlib.util
import json
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def script(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), ROOT / "Scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docs, snippets = script("docs"), script("check-snippets")


def symbol(kind, *path):
    return {"kind": {"identifier": f"swift.{kind}"}, "pathComponents": list(path)}


class Names(unittest.TestCase):
    def test_members_that_a_module_adds_to_another_are_kept_apart(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            own = [symbol("struct", "A"), symbol("enum", "A", "B"), symbol("method", "A", "f()")]
            (folder / "M.symbols.json").write_text(json.dumps({"symbols": own}))
            added = [symbol("extension", "X"), symbol("property", "X", "shared")]
            (folder / "M@Core.symbols.json").write_text(json.dumps({"symbols": added}))
            found = docs.names(folder)
        self.assertEqual(found.own, {("A",), ("A", "B"), ("A", "f()")})
        self.assertEqual(found.types, {("A",), ("A", "B")})
        self.assertEqual(found.added, {("X", "shared"): "Core"})


MODULES = {
    "Core": docs.Names(
        {("Error",), ("Error", "Code"), ("Pipe",), ("Event", "Lane")}, {("Error",), ("Error", "Code"), ("Pipe",)}, {}),
    "Kit": docs.Names({("Lane",)}, {("Lane",)}, {}),
    "App": docs.Names({("Loader",)}, {("Loader",)}, {("Pipe", "shared"): "Core", ("Pipe", "data(for:)"): "Core"}),
}


class SymbolLinks(unittest.TestCase):
    def qualified(self, link, module="App"):
        return docs.qualified(link, module, MODULES)

    def test_types_of_other_modules_get_their_module(self):
        self.assertEqual(self.qualified("Error/Code/timedOut"), "/Core/Error/Code/timedOut")
        self.assertEqual(self.qualified("Lane"), "/Kit/Lane")
        self.assertEqual(self.qualified("Core"), "/Core")

    def test_the_modules_own_declarations_stay(self):
        self.assertEqual(self.qualified("Loader/load()"), "Loader/load()")
        self.assertEqual(self.qualified("Error", "Core"), "Error")
        self.assertEqual(self.qualified("load()"), "load()")
        self.assertEqual(self.qualified("/Core/Error"), "/Core/Error")

    def test_a_nested_type_is_not_mistaken_for_another_modules(self):
        self.assertEqual(self.qualified("Lane", "Core"), "Lane")

    def test_a_member_that_the_module_adds_is_found_in_its_extension(self):
        self.assertEqual(self.qualified("Pipe/shared"), "/App/Core/Pipe/shared")
        self.assertEqual(self.qualified("Pipe/data(for:)-(Request)"), "/App/Core/Pipe/data(for:)-(Request)")
        self.assertEqual(self.qualified("Pipe/other"), "/Core/Pipe/other")

    def test_only_links_are_completed(self):
        text = "See ``Error`` and `Error`; ``-(_:_:)``."
        self.assertEqual(docs.with_modules(text, "App", MODULES), "See ``/Core/Error`` and `Error`; ``-(_:_:)``.")


class Articles(unittest.TestCase):
    def article(self, text):
        images, path = ROOT / "Documentation" / "Images.md", ROOT / "Documentation" / "Some.md"
        decision = ROOT / "Documentation" / "Decisions" / "0001-x.md"
        articles = {path: text, images: "# Images\n\n## Linear `light`, really\n", decision: "# X\n"}
        return docs.article(text, path, articles, MODULES)

    def test_links_to_articles_are_docs_links(self):
        self.assertEqual(self.article("[a\nb](Images.md)"), "[a\nb](doc:Images)")
        self.assertEqual(self.article("[`x`](Decisions/0001-x.md)"), "[`x`](doc:0001-x)")
        self.assertEqual(self.article("[y](Images.md#linear-light-really)"), "[y](doc:Images#Linear-light-really)")

    def test_other_files_are_named(self):
        self.assertEqual(self.article("the [lab](../Sources/Lab)"), "the lab (`Sources/Lab`)")
        self.assertEqual(self.article("[gate](../Examples/gate/main.swift)"), "`Examples/gate`")
        self.assertEqual(self.article("[x](https://example.org/)"), "[x](https://example.org/)")

    def test_images_are_beside_the_article(self):
        self.assertEqual(self.article("![a\nb](../Documentation/a.svg)"), "![a\nb](a.svg)")

    def test_types_become_links_where_one_module_has_them(self):
        self.assertEqual(self.article("`Error` `Error.Code`"), "``/Core/Error`` ``/Core/Error/Code``")
        self.assertEqual(self.article("`Unknown` `Error.x`"), "`Unknown` `Error.x`")
        self.assertEqual(self.article("[`Error`](Images.md)"), "[`Error`](doc:Images)")

    def test_code_stays_and_headings_lose_their_backticks(self):
        code = "\n```swift\n// `Error` [a](Images.md)\n# `x`\n```\n"
        self.assertEqual(self.article("## The `Error`\n" + code), "## The Error\n" + code)


class Diagnostics(unittest.TestCase):
    def complaints(self, severity, summary):
        found = {"severity": severity, "summary": summary, "source": f"file://{ROOT}/Sources/A.swift"}
        found["range"] = {"start": {"line": 7}}
        return list(docs.complaints(json.dumps({"diagnostics": [found]})))

    def test_warnings_fail_with_their_place(self):
        self.assertEqual(self.complaints("warning", "'X' doesn't exist"), ["Sources/A.swift:7: 'X' doesn't exist"])

    def test_undocumented_parameters_fail_and_notes_do_not(self):
        self.assertEqual(len(self.complaints("warning", "Parameter 'x' is missing documentation")), 1)
        self.assertEqual(self.complaints("note", "'X' doesn't exist"), [])


class DeadLinks(unittest.TestCase):
    def dead_links(self, **reference):
        with tempfile.TemporaryDirectory() as name:
            site = pathlib.Path(name)
            (site / "data/documentation").mkdir(parents=True)
            (site / "a.svg").touch()
            (site / "data/documentation/b.json").write_text('{"sections":[{"anchor":"Here"}]}')
            page = {"references": {"doc://x/documentation/b": reference}}
            (site / "data/documentation/a.json").write_text(json.dumps(page))
            return list(docs.dead_links(site))

    def test_what_exists_is_silent(self):
        self.assertEqual(self.dead_links(url="/documentation/b#Here"), [])
        self.assertEqual(self.dead_links(url="https://example.org/"), [])
        self.assertEqual(self.dead_links(variants=[{"url": "/a.svg"}]), [])

    def test_pages_headings_and_files_that_are_missing_are_named(self):
        page = "/documentation/a: "
        self.assertEqual(self.dead_links(url="/documentation/c"), [page + "doc://x/documentation/b does not exist"])
        self.assertEqual(self.dead_links(url="/documentation/b#There"), [page + "/documentation/b has no heading There"])
        self.assertEqual(self.dead_links(variants=[{"url": "/b.svg"}]), [page + "/b.svg does not exist"])
        self.assertEqual(len(self.dead_links(type="unresolvable")), 1)


class Snippets(unittest.TestCase):
    def test_swift_blocks_are_found_with_their_lines_but_no_manifests(self):
        text = "a\n```swift\n.package(x)\n```\n    b\n```swift\nf()\n```\n```\ng()\n```\n"
        self.assertEqual(list(snippets.blocks(text)), [(7, "f()\n")])

    def test_statements_get_a_function_and_declarations_stand_for_themselves(self):
        statements = snippets.program(7, "import A\n\n// First\nlet x = 1\n", "a.md")
        self.assertIn("import A\n@MainActor func block7() async throws {", statements)
        self.assertIn('line: 7)\n\n\n// First\nlet x = 1\n#sourceLocation()\n}\n}\n', statements)
        for code in ("final class A {}\n", "@MainActor func f() {}\n", "// B\nstruct B {}\n"):
            self.assertNotIn("func block", snippets.program(7, code, "a.md"))


class Pages(unittest.TestCase):
    def test_every_library_has_a_page_and_is_built(self):
        manifest = (ROOT / "Package.swift").read_text(encoding="utf-8")
        # The fuzz targets link InflightBatch, which has no public names.
        libraries = set(re.findall(r'\.library\(name: "(\w+)"', manifest)) - {"InflightBatch"}
        self.assertEqual(set(docs.MODULES), libraries | {"InflightGTK"})
        self.assertEqual({path.stem for path in docs.PAGES.glob("*.md")}, set(docs.MODULES))

    def test_the_landing_page_links_every_module_and_article(self):
        text = (docs.PAGES / "Inflight.md").read_text(encoding="utf-8")
        for module in set(docs.MODULES) - {"Inflight"}:
            self.assertIn(f"- ``{module}``\n", text)
        for folder in docs.ARTICLES:
            for path in folder.glob("*.md"):
                if path.name != "README.md":
                    self.assertIn(f"- <doc:{path.stem}>\n", text)

    def test_pages_of_types_are_in_the_catalog_of_their_module_and_list_each_member_once(self):
        self.assertLessEqual({path.name for path in docs.PAGES.glob("*") if path.is_dir()}, set(docs.MODULES))
        with tempfile.TemporaryDirectory() as name:
            catalog = pathlib.Path(name) / "InflightCore.docc"
            own = {("ImagePipeline",), ("ImageRequest",), ("ImageRequest", "Limits")}
            docs.assemble("InflightCore", catalog, {"InflightCore": docs.Names(own, own, {})})
            texts = {path.stem: path.read_text(encoding="utf-8") for path in catalog.iterdir()}
        self.assertLessEqual({"InflightCore", "ImagePipeline", "ImageRequest"}, set(texts))
        self.assertIn("- ``Limits-swift.struct``\n", texts["ImageRequest"])
        for page, text in texts.items():
            self.assertRegex(text, f"^# ``/?{page.replace('.', '/')}``\n")
            listed = re.findall("^- (.+)$", text, re.MULTILINE)
            self.assertEqual(len(listed), len(set(listed)), page)


if __name__ == "__main__":
    unittest.main()
