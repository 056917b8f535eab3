#!/usr/bin/env python3
"""Compares the public types of the libraries with Scripts/public-names.txt, so that no change goes unnoticed.

    Scripts/public-names.py            print the list
    Scripts/public-names.py --check    compare it with the file, and its counts with the limits
    Scripts/public-names.py --update   write it to the file
    Scripts/public-names.py --undocumented [FOLDER…]
                                       print the undocumented public declarations of the libraries, or of folders

The script reads the sources, without a build. For each library product it lists the public types with their nested
types, and the public functions and variables at top level. `Inflight` includes the names that it re-exports.
"""

import collections
import difflib
import pathlib
import re
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = "Scripts/public-names.txt"
# The maximum number of public types of a library: at top level, and with nested ones.
LIMITS = {"Inflight": (54, 150)}

TYPES = {"struct", "class", "enum", "protocol", "actor", "typealias"}
# Aliases that only satisfy a protocol's associated types are not listed.
WITNESSES = {"Element", "Failure"}
# Members that protocols of the standard library and of Foundation require and document.
INHERITED = WITNESSES | {
    "==", "<", "hash", "encode", "description", "debugDescription", "errorDescription", "failureReason",
    "recoverySuggestion", "makeAsyncIterator", "AsyncIterator", "makeIterator", "next", "allCases", "rawValue", "id",
}
OPENING = re.compile(r'//|/\*|(?P<hashes>#*)(?P<quotes>"""|")')
DECLARATION = re.compile(
    r"(?P<before>(?:@\w+(?:\([^()]*\))?\s+|[a-z]+(?:\([a-z]+\))?[ \t]+)*)"
    r"(?:(?P<kind>struct|class|enum|protocol|actor|typealias|extension|func|var|let|case|associatedtype)\s+"
    r"(?P<name>[\w.`]+|[-+*/<>=!&|^~?%]+)|(?P<unnamed>init|subscript)\b)"
)
EXPORT = re.compile(
    r"^@_exported\s+public\s+import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?"
    r"(?P<module>\w+)(?:\.(?P<name>\w+))?",
    re.MULTILINE,
)


def skeleton(text):
    """The text without comments and string contents, on the same lines, so that all braces are code."""
    kept, position = [], 0
    while found := OPENING.search(text, position):
        kept.append(text[position : found.start()])
        if found[0] == "//":
            end = text.find("\n", found.end())
            position = len(text) if end < 0 else end
        elif found[0] == "/*":
            position = past_comment(text, found.end())
            kept.append("\n" * text.count("\n", found.start(), position))
        else:
            position = past_string(text, found)
            kept.append('""' + "\n" * text.count("\n", found.start(), position))
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


class Declaration(typing.NamedTuple):
    # The names of the enclosing types, and the kind of the innermost or None.
    owners: tuple
    owner_kind: str | None
    kind: str
    name: str
    is_public: bool
    line: int
    # The types after the colon of a type or an extension.
    inherited: frozenset
    # Whether it has a documentation comment.
    is_documented: bool

    @property
    def path(self):
        return ".".join([*self.owners, self.name])


def declarations(text):
    """The declarations in a file, without function bodies. A requirement or a case is as public as its type."""
    # The type of each open brace; None for a function's body and the like.
    scopes, pending = [], None
    code, lines = skeleton(text), text.splitlines()
    for token in re.compile(r"[{}]|(?:^|(?<=[{;]))[ \t]*" + DECLARATION.pattern, re.MULTILINE).finditer(code):
        if token[0] == "{":
            scopes.append(pending)
            pending = None
        elif token[0] == "}":
            scopes.pop()
        elif None not in scopes and "import" not in token["before"].split():
            kind = token["kind"] or token["unnamed"]
            owner = scopes[-1] if scopes else None
            is_public = bool({"public", "open"} & set(token["before"].split()))
            if owner and (owner.kind == "protocol" or kind == "case"):
                is_public = owner.is_public
            line = code.count("\n", 0, token.start() + len(token[0]) - len(token[0].lstrip())) + 1
            opens = kind in TYPES - {"typealias"} or kind == "extension"
            clause = code[token.end() : code.find("{", token.end())] if opens else ""
            found = Declaration(
                tuple(scope.name for scope in scopes), owner and owner.kind, kind,
                (token["name"] or token["unnamed"]).strip("`"), is_public, line,
                frozenset(re.findall(r"\w+", clause.partition(" where ")[0])),
                line > 1 and lines[line - 2].lstrip().startswith("///"))
            pending = found if opens else None
            yield found


def public_names(text):
    """The names of a file's public types, with their owners' names, and of its functions and variables at top level."""
    for found in declarations(text):
        if found.is_public and (found.kind in TYPES or not found.owners and found.kind != "extension"):
            yield found.path, found.kind


def names_by_module(root, folders):
    """The public names of each module with their kinds, without members of types that are not public."""
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
    """The names of `Inflight`, including those that it re-exports."""
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


def without_comment(root, folders):
    """The public declarations without a documentation comment, as lines of `file:line: name`.

    A member that a protocol requires and documents needs none of its own.
    """
    found = [
        (path, declaration) for folder in folders for path in sorted(folder.rglob("*.swift"))
        for declaration in declarations(path.read_text(encoding="utf-8"))
    ]
    types = [declaration for _, declaration in found if declaration.kind in TYPES]
    hidden = {kind.path for kind in types if not kind.is_public} - {kind.path for kind in types if kind.is_public}
    protocols, required = collections.defaultdict(set), collections.defaultdict(set)
    for _, declaration in found:
        if declaration.inherited:
            protocols[declaration.path] |= declaration.inherited
        if declaration.owner_kind == "protocol" and declaration.is_documented:
            required[declaration.owners[-1]].add(declaration.name)

    def inherits(owner, name, seen=frozenset()):
        return name in required[owner] or any(
            inherits(other, name, seen | {owner}) for other in protocols[owner] if other not in seen)

    for path, declaration in found:
        owners = [".".join(declaration.owners[: count + 1]) for count in range(len(declaration.owners))]
        if (
            declaration.is_public and not declaration.is_documented and declaration.kind != "extension"
            and declaration.name not in INHERITED and hidden.isdisjoint(owners)
            and not (owners and inherits(owners[-1], declaration.name))
        ):
            yield f"{path.relative_to(root)}:{declaration.line}: {declaration.path} has no documentation comment"


def documented_folders(root):
    return [*products(root).values(), root / "GTK/Sources/InflightGTK"]


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
    elif arguments[:1] == ["--undocumented"]:
        folders = [pathlib.Path(name).resolve() for name in arguments[1:]] or documented_folders(root)
        print(*without_comment(root, folders), sep="\n")
    elif arguments == ["--check"]:
        failed = [
            *problems(found, (root / LIST).read_text(encoding="utf-8")), *without_comment(root, documented_folders(root))]
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
