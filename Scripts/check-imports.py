#!/usr/bin/env python3
"""Checks that every target imports only modules that it is allowed to.

    Scripts/check-imports.py [ROOT]

Targets import only lower layers. Each C library has one C target, imported by one Swift target. No C target is imported
publicly, so that no public signature contains a C type.
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


def main(root):
    failed = False
    for path in sorted((root / "Sources").rglob("*.swift")):
        _folder, target, *_ = path.relative_to(root / "Sources").parts
        for line, problem in problems_in(target, path.read_text(encoding="utf-8")):
            failed = True
            print(f"{path.relative_to(root)}:{line}: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)))
