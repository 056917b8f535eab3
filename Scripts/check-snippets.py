#!/usr/bin/env python3
"""Type-checks the Swift blocks of the README and the articles: Scripts/check-snippets.py FLAGS-OF-SWIFT-BUILD…

The modules must have been built with the same flags. In a table whose last column is headed "Inflight", that column's
code is a block for each row. A block of declarations is compiled as it is. A block with
statements becomes the body of a function, with the declarations that the articles assume. Blocks of a manifest are
skipped.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARTICLES = ["README.md", *sorted(
    str(path.relative_to(ROOT)) for folder in ("", "Site") for path in (ROOT / "Documentation" / folder).glob("*.md"))]
DECLARATION = re.compile(r"^(?:@\w+ |final |public )*(?:class|struct|enum|protocol|extension|func) ")
# A call outside of a declaration.
CALL = re.compile(r"^[\w.]+\(", re.MULTILINE)
# The modules that an article's blocks use without an import.
IMPORTS = {
    "Documentation/Extending.md": ["InflightConcurrency", "InflightCore"],
    "Documentation/Simulator.md": ["InflightContract", "InflightTestSupport"],
    "Documentation/Telemetry.md": ["InflightConcurrency"],
    "Documentation/Views.md": ["CGTK", "InflightGTK"],
}
# The declarations that the articles assume.
ASSUMED = """import Foundation
import Inflight

struct ProgressBar { func show(_ fraction: Double?) {} }
struct ImageView { func show(_ pixels: PixelBuffer) {} }
func draw(_ pixels: PixelBuffer?) {}
func show(_ result: Result<LoadedImage, LoadError>) {}
func requests(of rows: Range<Int>) -> [ImageRequest] { [] }
func fetchToken() async throws -> String { "" }
enum Issue { static func record(_ message: String) {} }
"""
ASSUMED_BY = {
    "Documentation/GettingStarted.md": "extension Cell { func draw(_ pixels: PixelBuffer?) {} }\n",
    "Documentation/Decoders.md": "import InflightCore\nfunc MyCodec() -> any ImageCodec { fatalError() }\n",
}
# A block may redeclare each of them.
VARIABLES = """var request: ImageRequest = "", image: LoadedImage! = nil, response: LoadedResponse! = nil, task: ImageTask! = nil
var configuration = ImagePipeline.Configuration()
let url = "", signedURL = "", token = "", urls = [""], nextRequests: [ImageRequest] = []
let png = Bytes([]), bar = ProgressBar(), view = ImageView(), pipeline = ImagePipeline.shared
let queue = DispatchQueue(label: "callbacks"), picture: OpaquePointer! = nil, hash: BlurHash! = nil
"""


def blocks(text):
    """The Swift blocks of an article, each with the number of its first line."""
    for found in re.finditer(r"^```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not found[1].startswith("."):
            yield text.count("\n", 0, found.start(1)) + 1, found[1]
    compares = False
    for line, row in enumerate(text.splitlines(), 1):
        compares = row.startswith("|") and (compares or row.endswith(" | Inflight |"))
        if compares and (code := re.search(r"\| `([^`]+)` \|$", row)):
            yield line, code[1] + "\n"


def program(line, block, name):
    """A Swift file that compiles if the block does. The compiler reports line numbers of the article."""
    code = block.splitlines(keepends=True)
    imports = [each for each in code if each.startswith("import ")]
    body = "".join("\n" if each in imports else each for each in code)
    located = f'#sourceLocation(file: "{name}", line: {line})\n{body}#sourceLocation()\n'
    first = next((each for each in body.splitlines() if each and not each.startswith("//")), "")
    if not DECLARATION.match(first) or CALL.search(body):
        located = f"@MainActor func block{line}() async throws {{\n{VARIABLES}do {{\n{located}}}\n}}\n"
    assumed = [f"import {module}\n" for module in ["Foundation", "Inflight", *IMPORTS.get(name, [])]]
    return "".join([*assumed, *imports, located])


def main(flags):
    spec = importlib.util.spec_from_file_location("docs", ROOT / "Scripts" / "docs.py")
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    command = [docs.SWIFT + "c", "-typecheck", "-swift-version", "6", "-suppress-warnings", "-parse-as-library",
               "-enable-upcoming-feature", "MemberImportVisibility", *docs.compiler_flags(docs.built_in(flags))]
    failed = 0
    for article in ARTICLES:
        found = list(blocks((ROOT / article).read_text(encoding="utf-8")))
        if not found:
            continue
        with tempfile.TemporaryDirectory(prefix="inflight-snippets-") as name:
            folder = pathlib.Path(name)
            assumed = ASSUMED_BY.get(article, "")
            (folder / "Assumed.swift").write_text(ASSUMED + assumed, encoding="utf-8")
            for line, block in found:
                (folder / f"Line{line}.swift").write_text(program(line, block, article), encoding="utf-8")
            failed |= subprocess.run([*command, *sorted(folder.glob("*.swift"))], cwd=ROOT, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
