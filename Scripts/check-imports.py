#!/usr/bin/env python3
"""Checks that every target imports only modules that it is allowed to.

    Scripts/check-imports.py [ROOT]

Targets import only lower layers. Each C library has one C target, imported by one Swift target. No C target is imported
publicly, so that no public signature contains a C type. Each library product lists the modules that its own import
publicly: otherwise SwiftPM does not compile a client again when their types have changed.
"""

import pathlib
import re
import sys

# The system's C library and the modules of the language, without Foundation, which is large and slow to load.
PLATFORM = {"Darwin", "Dispatch", "FoundationEssentials", "Glibc", "Musl", "Synchronization"}
IMAGES = {"InflightConcurrency", "InflightImages"}
ENGINE = IMAGES | {"InflightCore"}
# The modules behind `import Inflight`. The command uses no others, so that it shows what the package offers to users.
ASSEMBLY = {"Inflight", "InflightCurl", "InflightDisk", "InflightWorker", *ENGINE}

ALLOWED = {
    "InflightConcurrency": PLATFORM | {"CInflightConcurrency"},
    "InflightFiles": PLATFORM,
    # For programs of others, and for the lab. Nothing that loads an image may import it.
    "InflightPatterns": PLATFORM - {"FoundationEssentials"} | {"CInflightConcurrency", "InflightConcurrency"},
    "InflightImages": PLATFORM | {"CInflightImages", "InflightConcurrency"},
    "InflightCore": PLATFORM | IMAGES | {"InflightFiles"},
    "InflightFoundation": PLATFORM | ENGINE | {"Foundation", "FoundationNetworking"},
    "InflightCurl": PLATFORM | ENGINE | {"CInflightCurl"},
    "InflightSQLite": PLATFORM | {"CInflightSQLite"},
    "InflightDisk": PLATFORM | ENGINE | {"InflightFiles", "InflightSQLite"},
    "InflightCodecs": PLATFORM | IMAGES | {"CInflightCodecs"},
    "InflightCodings": PLATFORM | ENGINE | {"CInflightCodings"},
    "InflightVips": PLATFORM | IMAGES | {"CInflightVips", "InflightCodecs"},
    "InflightWorker": PLATFORM | ENGINE | {"CInflightWorker"},
    "InflightSandbox": PLATFORM | ENGINE | {"CInflightSandbox", "InflightWorker"},
    "InflightDecoder": PLATFORM | ENGINE | {"InflightSandbox", "InflightCodecs"},
    "InflightVipsDecoder": PLATFORM | ENGINE | {"InflightSandbox", "InflightCodecs", "InflightVips"},
    "Inflight": PLATFORM
    | ENGINE
    | {"InflightCurl", "InflightDisk", "InflightCodecs", "InflightCodings", "InflightWorker"},
    "InflightBatch": PLATFORM
    | ENGINE
    | {"CInflightBatch", "InflightPrograms", "InflightCodings", "InflightFiles", "InflightSQLite"},
    # InflightSQLite also holds XXH64, by which an output folder's index recognises files.
    "InflightCLI": PLATFORM
    | ASSEMBLY
    | {"InflightBatch", "InflightFiles", "InflightPrograms", "InflightSQLite", "CInflightReport"},
    # What `inflight` and `inflight-lab` share, and how both and bulk downloads write JSON.
    "InflightPrograms": PLATFORM | {"InflightConcurrency", "InflightFiles"},
    "InflightLab": PLATFORM
    | ASSEMBLY
    | {"CInflightLab", "Foundation", "InflightFiles", "InflightFoundation", "InflightPatterns", "InflightPrograms"},
    "InflightDemo": PLATFORM | ASSEMBLY | {"InflightTestSupport"},
    # The contract model sees only the core's public names, as a user does. The manifest hides `package` ones.
    "InflightContract": PLATFORM | {"InflightCore"},
    "InflightTestSupport": PLATFORM
    | ENGINE
    | {"CInflightTLS", "CInflightConcurrency", "InflightContract", "InflightFiles"},
    "InflightSimulate": PLATFORM | {"InflightConcurrency", "InflightTestSupport"},
    "InflightStress": PLATFORM | ENGINE | {"Foundation", "InflightFoundation", "InflightCurl", "InflightTestSupport"},
    "InflightCrash": PLATFORM | ENGINE | {"InflightDisk", "InflightFiles", "InflightTestSupport"},
}

IMPORT = re.compile(
    r"^\s*(?P<before>(?:@[\w()]+\s+|public\s+|package\s+|internal\s+|fileprivate\s+|private\s+)*)"
    r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor)\s+)?(?P<module>\w+)",
    re.MULTILINE,
)


def stands_in(text, position):
    """Whether Foundation is imported only as a fallback for FoundationEssentials."""
    return bool(re.search(r"#if canImport\(FoundationEssentials\)[^#]*#else\s*$", text[:position]))


def problems_in(target, text):
    """The problems with the imports of one file, each with its line number."""
    allowed = ALLOWED.get(target)
    if allowed is None:
        yield 1, f"target {target} is not in this check's table: add its allowed imports"
        return
    for found in IMPORT.finditer(text):
        line = text.count("\n", 0, found.start("module")) + 1
        module = found["module"]
        if module not in allowed and not (module == "Foundation" and stands_in(text, found.start())):
            yield line, f"{target} may not import {module}"
        if module.startswith("CInflight") and re.search(r"public|package|@_exported", found["before"]):
            yield line, f"{module} is imported publicly: public signatures could contain C types"


def listed(expression, lists):
    """The names in a list of the manifest, such as `["A", "B"] + engine`."""
    return set(re.findall(r'"(\w+)"', expression)).union(
        *(lists.get(name, set()) for name in re.findall(r"\b\w+\b", re.sub(r'"\w+"', "", expression))))


def incomplete_products(manifest, public_imports):
    """The library products that do not list a module that theirs import publicly, each with its line number."""
    lists = {}
    for name, expression in re.findall(r"^let (\w+) = (\[\"\w+\".*)$", manifest, re.MULTILINE):
        lists[name] = listed(expression, lists)
    for found in re.finditer(r'\.library\(name: "(\w+)", targets: (.*)\)', manifest):
        modules = listed(found[2], lists)
        needed = set().union(*(public_imports.get(module, set()) for module in modules))
        for module in sorted(needed - modules):
            yield manifest.count("\n", 0, found.start()) + 1, f"product {found[1]} does not list {module}"


def main(root):
    failed = False
    public_imports = {}
    for path in sorted((root / "Sources").rglob("*.swift")):
        _folder, target, *_ = path.relative_to(root / "Sources").parts
        text = path.read_text(encoding="utf-8")
        public_imports.setdefault(target, set()).update(
            found["module"] for found in IMPORT.finditer(text)
            if "public" in found["before"] and found["module"].startswith("Inflight"))
        for line, problem in problems_in(target, text):
            failed = True
            print(f"{path.relative_to(root)}:{line}: {problem}", file=sys.stderr)
    manifest = root / "Package.swift"
    text = manifest.read_text(encoding="utf-8") if manifest.exists() else ""
    for line, problem in incomplete_products(text, public_imports):
        failed = True
        print(f"Package.swift:{line}: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)))
