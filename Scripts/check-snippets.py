#!/usr/bin/env python3
"""Type-checks the Swift blocks of Documentation/GettingStarted.md: Scripts/check-snippets.py FLAGS-OF-SWIFT-BUILD…

The modules must have been built with the same flags. A block of declarations is compiled as it is. A block of
statements becomes the body of a function, with the declarations that the article assumes. Blocks of a manifest are
skipped.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARTICLE = "Documentation/GettingStarted.md"
DECLARATION = re.compile(r"^(?:@\w+ |final |public )*(?:class|struct|enum|protocol|extension|func) ")
ASSUMED = """import Foundation
import Inflight
import InflightCore

struct ProgressBar { func show(_ fraction: Double?) {} }
func show(_ result: Result<LoadedImage, LoadError>) {}
func requests(of rows: Range<Int>) -> [ImageRequest] { [] }
enum Issue { static func record(_ message: String) {} }
extension Cell { func draw(_ pixels: PixelBuffer?) {} }
"""
# A block may redeclare each of them.
VARIABLES = """var request: ImageRequest = "", image: LoadedImage! = nil, task: ImageTask! = nil
let url = "", token = "", png = Bytes([]), bar = ProgressBar(), pipeline = ImagePipeline.shared
"""


def blocks(text):
    """The Swift blocks of an article, each with the number of its first line."""
    for found in re.finditer(r"^```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not found[1].startswith("."):
            yield text.count("\n", 0, found.start(1)) + 1, found[1]


def program(line, block, name=ARTICLE):
    """A Swift file that compiles if the block does. The compiler reports line numbers of the article."""
    code = block.splitlines(keepends=True)
    imports = [each for each in code if each.startswith("import ")]
    body = "".join("\n" if each in imports else each for each in code)
    located = f'#sourceLocation(file: "{name}", line: {line})\n{body}#sourceLocation()\n'
    first = next((each for each in body.splitlines() if each and not each.startswith("//")), "")
    if not DECLARATION.match(first):
        located = f"func block{line}() async throws {{\n{VARIABLES}do {{\n{located}}}\n}}\n"
    return "".join(["import Foundation\n", "import Inflight\n", *imports, located])


def main(flags):
    spec = importlib.util.spec_from_file_location("docs", ROOT / "Scripts" / "docs.py")
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    with tempfile.TemporaryDirectory(prefix="inflight-snippets-") as name:
        folder = pathlib.Path(name)
        (folder / "Assumed.swift").write_text(ASSUMED, encoding="utf-8")
        for line, block in blocks((ROOT / ARTICLE).read_text(encoding="utf-8")):
            (folder / f"Line{line}.swift").write_text(program(line, block), encoding="utf-8")
        command = [docs.SWIFT + "c", "-typecheck", "-swift-version", "6", "-suppress-warnings", "-parse-as-library",
                   "-enable-upcoming-feature", "MemberImportVisibility", *docs.compiler_flags(docs.built_in(flags))]
        return subprocess.run([*command, *sorted(folder.glob("*.swift"))], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
