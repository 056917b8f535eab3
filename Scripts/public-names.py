#!/usr/bin/env python3
"""Compares the public types of the libraries with the list in Scripts/public-names.txt, so that a change is a decision.

    Scripts/public-names.py            print the list
    Scripts/public-names.py --check    compare it with the file, and its counts with the limits
    Scripts/public-names.py --update   write it to the file

The list is read from the sources, without a build: for each library product, its public types with their nested types,
and its public functions and variables at top level. `Inflight` has those that it exports from other modules, too.
"""

import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = "Scripts/public-names.txt"
# At most how many types a library shows: at top level, and with nested ones.
LIMITS = {"Inflight": (45, 120)}

TYPES = {"struct", "class", "enum", "protocol", "actor", "typealias"}
# Aliases that only state the types of a conformance are not listed.
WITNESSES = {"Element", "Failure"}
OPENING = re.compile(r'//|/\*|(?P<hashes>#*)(?P<quotes>"""|")')
DECLARATION = re.compile(
    r"(?P<before>(?:@\w+(?:\([^()]*\))?\s+|[a-z]+(?:\([a-z]+\))?\s+)*)"
    r"(?P<kind>struct|class|enum|protocol|actor|typealias|extension|func|var|let)\s+"
    r"(?P<name>[\w.`]+|[-+*/<>=!&|^~?%]+)"
)
EXPORT = re.compile(
    r"^@_exported\s+public\s+import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?"
    r"(?P<module>\w+)(?:\.(?P<name>\w+))?",
    re.MULTILINE,
)


def skeleton(text):
    """The text without comments and without the contents of strings: its braces are those of the code."""
    kept, position = [], 0
    while found := OPENING.search(text, position):
        kept.append(text[position : found.start()])
        if found[0] == "//":
            end = text.find("\n", found.end())
            position = len(text) if end < 0 else end
        elif found[0] == "/*":
            position = past_comment(text, found.end())
        else:
            kept.append('""')
            position = past_string(text, found)
    kept.append(text[position:])
    return "".join(kept)


def past_comment(text, position):
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)


def past_string(text, opening):
    """The position after a string literal, whose interpolations may contain strings."""
    closing, escape = opening["quotes"] + opening["hashes"], "\\" + opening["hashes"]
    position = opening.end()
    while position < len(text):
        if text.startswith(closing, position):
            return position + len(closing)
        if text.startswith(escape + "(", position):
            position += len(escape) + 1
            depth = 1
            while depth and position < len(text):
                found = OPENING.match(text, position)
                if found and found["quotes"]:
                    position = past_string(text, found)
                    continue
                depth += {"(": 1, ")": -1}.get(text[position], 0)
                position += 1
        else:
            position += len(escape) + 1 if text.startswith(escape, position) else 1
    return position


def public_names(text):
    """The names of the public declarations in a file, with those of their owners, and the kind of each."""
    # The name of what each open brace belongs to; None for a function's body and the like.
    scopes, pending = [], None
    for token in re.compile(r"[{}]|(?:^|(?<=[{;]))[ \t]*" + DECLARATION.pattern, re.MULTILINE).finditer(skeleton(text)):
        if token[0] == "{":
            scopes.append(pending)
            pending = None
        elif token[0] == "}":
            scopes.pop()
        elif None not in scopes:
            kind, name = token["kind"], token["name"].strip("`")
            is_type = kind in TYPES or kind == "extension"
            pending = name if is_type and kind != "typealias" else None
            is_public = {"public", "open"} & set(token["before"].split())
            if is_public and kind != "extension" and (is_type or not scopes):
                yield ".".join([*scopes, name]), kind


def names_by_module(root, folders):
    """For each module, its public names with their kinds. Names in a type that is not public are left out."""
    found = {
        module: dict(
            pair for path in sorted(folder.rglob("*.swift")) for pair in public_names(path.read_text(encoding="utf-8")))
        for module, folder in folders.items()
    }
    tops = {name for names in found.values() for name in names if "." not in name}

    def is_visible(name, names):
        owner = name.rpartition(".")[0]
        return not owner or (owner in names or owner in tops) and is_visible(owner, names)

    def is_witness(name, kind):
        return kind == "typealias" and name.rpartition(".")[2] in WITNESSES

    return {
        module: {
            name: kind for name, kind in names.items() if is_visible(name, names) and not is_witness(name, kind)
        }
        for module, names in found.items()
    }


def with_exports(names, text):
    """The names of `Inflight` with those that it exports."""
    own = dict(names["Inflight"])
    for export in EXPORT.finditer(text):
        for name, kind in names[export["module"]].items():
            if export["name"] in (None, name.partition(".")[0]):
                own[name] = kind
    return own


def products(root):
    """The folders of the library products, by name."""
    manifest = (root / "Package.swift").read_text(encoding="utf-8")
    names = re.findall(r'\.library\(name: "(\w+)"', manifest)
    return {name: next(iter(sorted((root / "Sources").glob(f"*/{name}")))) for name in names}


def counts(names):
    types = [name for name, kind in names.items() if kind in TYPES]
    return sum("." not in name for name in types), len(types)


def sections(root):
    """The names of each library product, with their kinds."""
    folders = products(root)
    names = names_by_module(root, folders)
    exporting = "".join(path.read_text(encoding="utf-8") for path in sorted(folders["Inflight"].rglob("*.swift")))
    return {**names, "Inflight": with_exports(names, exporting)}


def rendered(sections):
    lines = ["The public types of each library, as Scripts/public-names.py --update writes them.", ""]
    for module, names in sections.items():
        lines.append("{}: {} types, {} with nested ones".format(module, *counts(names)))
        lines += sorted("    " + name + ("" if kind in TYPES - {"typealias"} else f" ({kind})") for name, kind in names.items())
        lines.append("")
    return "\n".join(lines)


def problems(sections, listed):
    for module, limits in LIMITS.items():
        for count, limit, what in zip(counts(sections[module]), limits, ["types at top level", "types with nested ones"]):
            if count > limit:
                yield f"{module} has {count} {what}; the limit is {limit}"
    actual = rendered(sections)
    if actual != listed:
        changes = difflib.unified_diff(listed.splitlines(), actual.splitlines(), LIST, "sources", n=0, lineterm="")
        yield "\n".join(["the public names have changed; if that is intended, run Scripts/public-names.py --update", *changes])


def main(arguments, root=ROOT):
    found = sections(root)
    if arguments == ["--update"]:
        (root / LIST).write_text(rendered(found), encoding="utf-8")
    elif arguments == ["--check"]:
        failed = list(problems(found, (root / LIST).read_text(encoding="utf-8")))
        print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
        return 1 if failed else 0
    elif not arguments:
        print(rendered(found), end="")
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
