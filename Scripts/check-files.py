#!/usr/bin/env python3
"""Checks rules for every file of the project.

    Scripts/check-files.py [ROOT]

Every file is UTF-8 text of at most 512 KiB, without tabs, trailing white space, paths into home folders, or names of
package registries. Comments and prose are at most 120 columns wide. In Swift, every `@unchecked Sendable` and
`nonisolated(unsafe)` states its reason in a comment: on its line, on the line above, or on the first line inside. Swift
code waits for callbacks with the bridges of `InflightConcurrency`, which the thread sanitizer understands.

The version and its date are the same in all files that state them (`STATED`), and so are the maintainer and the homepage
of `Packaging/debian/control` (`NAMED`). `Documentation/Contract.md` has the rules of the contract, each with the suites
that prove it: they exist, none is missing, and nothing cites another number.
"""

import datetime
import pathlib
import re
import subprocess
import sys

LARGEST = 512 * 1024

# Split into pieces, so that this file passes its own check.
HOME = re.compile(r"(?<![\w.])/(?:" + "|".join(["ho" + r"me/\w", "ro" + r"ot/\w", "Us" + r"ers/\w"]) + ")")
REGISTRY = re.compile(
    r"\b(?:"
    + "|".join(
        name + r"\." + end
        for name, end in [
            ("py" + "pi", "org"),
            ("python" + "hosted", "org"),
            ("npm" + "js", "(?:org|com)"),
            ("crates", "io"),
            ("ruby" + "gems", "org"),
            ("gh" + "cr", "io"),
            ("docker", "(?:io|com)"),
            ("qu" + "ay", "io"),
            ("deb" + r"\.debian", "org"),
            (r"archive\." + "ubuntu", "com"),
        ]
    )
    + r")\b"
)
UNSAFE = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")
CONTINUATION = re.compile(r"\bwith(?:Checked|Unsafe)(?:Throwing)?Continuation\b")
# Examples show the language's own means. The bridge uses a continuation itself. The executor of `get` resumes no task
# before it is suspended.
CONTINUATIONS_ARE_FINE = re.compile(
    r"Examples/|Sources/Kit/InflightConcurrency/Bridges/Bridge\.swift$|Sources/Command/InflightCLI/Get/RunExecutor\.swift$")
TABS_ARE_FINE = {"Makefile", "rules", ".gitmodules"}
WIDTH = 120
COMMENT = re.compile(r"\s*(?://|# |\* )")
# Markdown's tables, indented code, headings and fences cannot be wrapped, nor can the expected output of an example.
UNWRAPPED = re.compile(r"\||    |#|```")
WIDE_IS_FINE = re.compile(r"Examples/.*\.swift$")

# The newest version in the changelog, and the files that state it or its date.
RELEASED = re.compile(r"^## (?P<version>\d+\.\d+\.\d+) \((?P<date>\d{4}-\d\d-\d\d)\)$", re.MULTILINE)
STATED = {
    "Sources/BackEnds/InflightCurl/CurlTransport+Configuration.swift": 'static let version = "{version}"\n',
    "Sources/Command/InflightCLI/Main/Version.swift": 'static let date = "{written}"\n',
    "Python/pyproject.toml": 'version = "{version}"\n',
    "GTK/Data/inflight-gallery.1": ".Dd {written}\n",
    "GTK/Data/org.inflight.Gallery.metainfo.xml": '<release version="{version}" date="{date}"/>\n',
}

# The fields of the packages that name the maintainer and the homepage, and the files that state them, too.
CONTROL = "Packaging/debian/control"
NAMES = re.compile(r"^Maintainer: (?P<maintainer>.+) <(?P<mail>.+)>\nHomepage: (?P<homepage>\S+)$", re.MULTILINE)
NAMED = {
    "Packaging/debian/copyright": "Upstream-Contact: {maintainer} <{mail}>\nSource: {homepage}\n",
    "Python/pyproject.toml":
        'authors = [{{ name = "{maintainer}", email = "{mail}" }}]\nurls = {{ Homepage = "{homepage}" }}\n',
    "GTK/Data/org.inflight.Gallery.metainfo.xml":
        '<developer_name>{maintainer}</developer_name>\n  <url type="homepage">{homepage}</url>\n',
}

# The rules of the contract, the suites that a text names or declares, and citations of a rule.
CONTRACT = "Documentation/Contract.md"
RULES = range(1, 13)
RULE = re.compile(r"^## (\d+)\. ", re.MULTILINE)
NAMED_SUITE = re.compile(r"`(\w+Tests)`")
SUITE = re.compile(r'(?:@Suite\(\s*"(?P<title>[^"]*)"[^\n]*\n(?:\)\n)?)?\s*(?:final class|struct) (?P<name>\w+Tests)\b')
CITED_RULE = re.compile(r"\b[Cc]ontract (\d+)\b")


def files(root):
    """The project's files: tracked or not ignored by git; without git, all but build products."""
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=True,
        ).stdout
        paths = [root / name.decode() for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {".git", ".build", ".swiftpm", "demo-out", "__pycache__"}
        paths = [path for path in root.rglob("*") if not skipped & set(path.relative_to(root).parts)]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def problems_in(name, content):
    """The problems of one file, each with its line number."""
    if len(content) > LARGEST:
        yield 1, f"larger than {LARGEST} bytes"
    if b"\0" in content:
        yield 1, "binary file: only text belongs in the project"
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        yield 1, "invalid UTF-8"
        return
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no line feed at the end of the file"
    if text.endswith("\n\n"):
        yield text.count("\n"), "empty lines at the end of the file"
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line.endswith((" ", "\t", "\r")):
            yield number, "white space at the end of the line"
        if "\t" in line and pathlib.PurePath(name).name not in TABS_ARE_FINE:
            yield number, "a tab: use four spaces, or \\t in a string"
        if HOME.search(line):
            yield number, "a path into a home folder"
        if REGISTRY.search(line):
            yield number, "the name of a package registry"
    if not WIDE_IS_FINE.match(name):
        yield from wide(name, lines)
    if name.endswith(".swift"):
        yield from unexplained(lines)
        if not CONTINUATIONS_ARE_FINE.match(name):
            yield from continuations(lines)


def wide(name, lines):
    """Comments and prose that are too wide. The formatter checks code."""
    is_prose, in_code = name.endswith(".md"), False
    for number, line in enumerate(lines, start=1):
        in_code ^= is_prose and line.lstrip().startswith("```")
        counts = not in_code and not UNWRAPPED.match(line) if is_prose else COMMENT.match(line)
        if counts and len(line) > WIDTH:
            yield number, f"wider than {WIDTH} columns"


def unexplained(lines):
    for number, line in enumerate(lines, start=1):
        code, _, remark = line.partition("//")
        if not UNSAFE.search(code):
            continue
        near = [lines[number - 2]] if number > 1 else []
        if code.rstrip().endswith("{"):
            near.append(lines[number])
        if not remark.strip("/ ") and not any(re.match(r"\s*//(?!/)\s*\S", line) for line in near):
            yield number, "no reason given: state why this is safe in a // comment, here, above or below"


def continuations(lines):
    for number, line in enumerate(lines, start=1):
        if CONTINUATION.search(line.partition("//")[0]):
            yield number, "the thread sanitizer reports a continuation as a race: use a Bridge or a ValueBridge"


def version_problems(root):
    """The files that do not state the newest version of the changelog, or its date."""
    released = RELEASED.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not released:
        yield "CHANGELOG.md", "no section of a version, such as '## 1.2.3 (2030-12-31)'"
        return
    date = datetime.date.fromisoformat(released["date"])
    for name, form in STATED.items():
        text = form.format(**released.groupdict(), written=f"{date:%B} {date.day}, {date.year}")
        if text not in (root / name).read_text(encoding="utf-8"):
            yield name, f"CHANGELOG.md has version {released[0].removeprefix('## ')}; expected: {text.strip()}"


def name_problems(texts):
    """The files that do not state the maintainer or the homepage of the packages."""
    names = NAMES.search(texts[CONTROL])
    if not names:
        yield CONTROL, "no Maintainer with a mail address, followed by a Homepage"
        return
    for name, form in NAMED.items():
        text = form.format(**names.groupdict())
        if text not in texts[name]:
            yield name, f"{CONTROL} has another maintainer or homepage; expected: {text.strip()}"


def contract_problems(page, texts):
    """The differences between the page of the contract and the suites and citations in `texts`, by file name."""
    parts = RULE.split(page)
    sections = {int(number): set(NAMED_SUITE.findall(text)) for number, text in zip(parts[1::2], parts[2::2])}
    if list(map(int, parts[1::2])) != list(RULES):
        yield CONTRACT, f"its headings are not the rules {RULES[0]} to {RULES[-1]}, in order"
    suites = {}
    for name, text in texts.items():
        if name.endswith(".swift") and name.startswith("Tests/"):
            suites |= {match["name"]: (name, match["title"] or "") for match in SUITE.finditer(text)}
        for number in sorted({int(number) for number in CITED_RULE.findall(text)} - set(RULES)):
            yield name, f"the contract has no rule {number}"
    for suite in sorted(set(NAMED_SUITE.findall(page)) - suites.keys()):
        yield CONTRACT, f"there is no suite {suite}"
    for suite, (name, title) in suites.items():
        cited = CITED_RULE.match(title)
        if cited and suite not in sections.get(int(cited[1]), {suite}):
            yield name, f"{CONTRACT} does not name {suite} as a proof of rule {cited[1]}"


def main(root):
    failed = False
    contents = {str(path.relative_to(root)): path.read_bytes() for path in files(root)}
    for name, content in contents.items():
        for line, problem in problems_in(name, content):
            failed = True
            print(f"{name}:{line}: {problem}", file=sys.stderr)
    texts = {name: content.decode("utf-8", "replace") for name, content in contents.items()}
    for name, problem in [
        *version_problems(root), *name_problems(texts), *contract_problems(texts[CONTRACT], texts)
    ]:
        failed = True
        print(f"{name}: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()))
