#!/usr/bin/env python3
"""Builds the documentation site: Scripts/docs.py OUTPUT-FOLDER FLAGS-OF-SWIFT-BUILD…

For each module, the symbol graph of its public declarations and a catalog become an archive of `docc`. The archives
become one site of static files. A catalog is the module's page in `Documentation/Site`, and the pages in the folder of
its name, which group the members of large types by task. The catalog of `Inflight` also has the articles of
`Documentation`, with their links rewritten. A warning of `docc` or a dead link fails the build.

Comments and pages link a type of any module by its name, as in ``LoadError``: this script adds the module to the link.
`BASE` is the path of the site on its server, as in `BASE=/inflight`. If unset, the site is at the root.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTATION = ROOT / "Documentation"
PAGES = DOCUMENTATION / "Site"
ARTICLES = [DOCUMENTATION, DOCUMENTATION / "Decisions"]
SWIFT = os.environ.get("SWIFT", "swift")
BASE = os.environ.get("BASE", "/")
# The library products. Each links to the ones before it.
MODULES = [
    "InflightConcurrency", "InflightPatterns", "InflightImages", "InflightCore", "InflightFoundation", "InflightCurl",
    "InflightDisk", "InflightCodecs", "InflightCodings", "InflightWorker", "InflightSandbox", "InflightVips",
    "InflightTestSupport", "InflightGTK", "Inflight",
]
# The targets that depend on all others. InflightGTK is in a package of its own.
TARGETS = ["Inflight", "InflightFoundation", "InflightPatterns", "InflightTestSupport", "InflightSandbox", "InflightVips"]
# The site's front page leads to that of `Inflight`. DocC's pages also ask for theme-settings.json.
FRONT_PAGE = '<!doctype html><title>Inflight</title><meta http-equiv="refresh" content="0; url=documentation/inflight/">'
TYPES = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.typealias"}
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
SYMBOL_LINK = re.compile(r"``([^`\n]+)``")
# A link, an image, or the name of a type outside of them: `LoadError`, `ImagePipeline.Configuration`.
LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)|(?<!`)`(?P<type>[A-Z]\w*(?:\.[A-Z]\w*)*)`(?!`)")


# The paths of a module's declarations, of its types, and of the members that it adds to types of other modules.
Names = collections.namedtuple("Names", ["own", "types", "added"])


def names(graphs):
    own, types, added = set(), set(), {}
    for file in graphs.glob("*.symbols.json"):
        extended = file.name.removesuffix(".symbols.json").partition("@")[2]
        for symbol in json.loads(file.read_text(encoding="utf-8"))["symbols"]:
            path, kind = tuple(symbol["pathComponents"]), symbol["kind"]["identifier"]
            if not extended:
                own.add(path)
                types |= {path} if kind in TYPES else set()
            elif kind != "swift.extension":
                added[path] = extended
    return Names(own, types, added)


def qualified(link, module, modules):
    """The link with its module, if `module` cannot resolve it alone. `modules` has the names of every module."""
    path = tuple(re.sub(r"(?<=[\w)])-.*", "", part) for part in link.split("/"))
    here = modules[module]
    if path in here.added:
        return f"/{module}/{here.added[path]}/{link}"
    if path[0] in modules:
        return f"/{link}"
    if any(path[0] in own for own in here.own):
        return link
    owners = [other for other, its in modules.items() if path[:1] in its.types]
    return f"/{owners[0]}/{link}" if len(owners) == 1 else link


def with_modules(text, module, modules):
    return SYMBOL_LINK.sub(lambda found: f"``{qualified(found[1], module, modules)}``", text)


def outside_code(text, change):
    """The text with all but its fenced code blocks changed."""
    return "".join(part if part.startswith("```") else change(part) for part in FENCE.split(text))


def article(text, path, articles, modules):
    """An article of `Documentation` for a catalog: links to articles and types become DocC's, other files are named."""

    def link(found):
        if found["type"]:
            parts = tuple(found["type"].split("."))
            owners = [other for other, its in modules.items() if parts in its.types]
            return f"``/{owners[0]}/{'/'.join(parts)}``" if len(owners) == 1 else found[0]
        target, _, anchor = found["target"].partition("#")
        if found["image"]:
            return f"![{found['text']}]({pathlib.PurePath(target).name})"
        if "://" in target:
            return found[0]
        linked = pathlib.Path(os.path.normpath(path.parent / target)) if target else path
        if linked in articles:
            # GitHub's anchor of a heading is in lower case, DocC's is not.
            headings = re.findall(r"^#+ (.+)$", articles[linked], re.MULTILINE)
            known = {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in headings}
            fragment = next((f"#{each}" for each in known if each.lower() == anchor), f"#{anchor}") if anchor else ""
            return f"[{found['text']}](doc:{linked.stem}{fragment})"
        name = str(linked.relative_to(ROOT)).removesuffix("/main.swift")
        return f"`{name}`" if found["text"] in name else f"{found['text']} (`{name}`)"

    def change(prose):
        lines = re.split(r"(^#.*$)", prose, flags=re.MULTILINE)
        # DocC shows the backticks of a heading.
        return "".join(line.replace("`", "") if line.startswith("#") else LINK.sub(link, line) for line in lines)

    return outside_code(text, change)


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def built_in(flags):
    """The folder of a build."""
    command = [SWIFT, "build", "--package-path", ROOT, *flags, "--show-bin-path"]
    return pathlib.Path(run(*command, capture_output=True, text=True).stdout.strip()).resolve()


def build(flags):
    for target in TARGETS:
        run(SWIFT, "build", "--quiet", *flags, "--target", target)
    # SwiftPM uses the last plan of a scratch folder, whichever package it was for, until a manifest in it is newer.
    (ROOT / "Package.swift").touch()
    run(SWIFT, "build", "--quiet", "--package-path", ROOT / "GTK", *flags, "--target", "InflightGTK")
    (ROOT / "Package.swift").touch()


def compiler_flags(built):
    """The flags for importing the modules of a build, and the C modules behind them."""
    system = [path for folder in ("Sources", "GTK/Sources") for path in (ROOT / folder).rglob("module.modulemap")]
    maps = [*built.glob("C*.build/module.modulemap"), *system]
    headers = run("pkg-config", "--cflags", "gtk4", capture_output=True, text=True).stdout.split()
    clang = [f"-fmodule-map-file={path}" for path in sorted(maps)] + headers
    triple = json.loads(run(SWIFT, "-print-target-info", capture_output=True).stdout)["target"]["unversionedTriple"]
    return ["-target", triple, "-I", built / "Modules", *(flag for each in clang for flag in ("-Xcc", each))]


def complete_links(module, graphs, modules):
    """Completes the links in the comments of a symbol graph, and drops conformances to the marker `SendableMetatype`."""
    for file in graphs.glob("*.symbols.json"):
        graph = json.loads(file.read_text(encoding="utf-8"))
        for symbol in graph["symbols"]:
            for line in symbol.get("docComment", {}).get("lines", []):
                line["text"] = with_modules(line["text"], module, modules)
        relations = graph["relationships"]
        graph["relationships"] = [each for each in relations if each.get("targetFallback") != "Swift.SendableMetatype"]
        file.write_text(json.dumps(graph), encoding="utf-8")


def assemble(module, catalog, modules):
    catalog.mkdir()
    for page in [PAGES / f"{module}.md", *(PAGES / module).glob("*.md")]:
        text = with_modules(page.read_text(encoding="utf-8"), module, modules)
        (catalog / page.name).write_text(text, encoding="utf-8")
    if module == "Inflight":
        paths = [path for folder in ARTICLES for path in folder.glob("*.md") if path.name != "README.md"]
        articles = {path: path.read_text(encoding="utf-8") for path in paths}
        for path, text in articles.items():
            (catalog / path.name).write_text(article(text, path, articles, modules), encoding="utf-8")
        for image in DOCUMENTATION.glob("*.svg"):
            shutil.copy(image, catalog)


def complaints(diagnostics):
    """The errors and warnings of `docc`, one per line."""
    for found in json.loads(diagnostics)["diagnostics"]:
        if found["severity"] in {"error", "warning"}:
            place = pathlib.Path(found.get("source", "").removeprefix("file://"))
            folders = (PAGES, *PAGES.glob("*/"), *ARTICLES)
            sources = [folder / place.name for folder in folders if (folder / place.name).exists()]
            place = os.path.relpath(sources[0] if sources and place.suffix == ".md" else place, ROOT)
            line = found.get("range", {}).get("start", {}).get("line", 0)
            hints = [f" ({each['summary']})" for each in found.get("solutions", [])]
            yield f"{place}:{line}: {found['summary']}{''.join(hints)}"


def convert(docc, module, folder, dependencies):
    """Converts a catalog and its symbol graphs. Returns the archive and the problems found."""
    archive, diagnostics = folder / f"{module}.doccarchive", folder / f"{module}.json"
    done = subprocess.run(
        [docc, "convert", folder / f"{module}.docc", "--additional-symbol-graph-dir", folder / module,
         "--output-path", archive, "--fallback-display-name", module, "--fallback-default-module-kind", "Module",
         "--fallback-bundle-identifier", f"inflight.{module}", "--enable-experimental-external-link-support",
         "--transform-for-static-hosting", "--hosting-base-path", BASE, "--diagnostics-file", diagnostics,
         *(part for each in dependencies for part in ("--dependency", each))],
        capture_output=True, text=True)
    found = list(complaints(diagnostics.read_text(encoding="utf-8"))) if diagnostics.exists() else []
    return archive, found or [done.stdout + done.stderr] * (done.returncode != 0)


def dead_links(site):
    """The references in the pages of a site to pages, headings and files that do not exist."""
    files = (site / "data").rglob("*.json")
    pages = {f"/{path.relative_to(site / 'data').with_suffix('')}": path.read_text(encoding="utf-8") for path in files}
    for name, page in sorted(pages.items()):
        for key, reference in json.loads(page).get("references", {}).items():
            target, _, anchor = reference.get("url", "").partition("#")
            # Protocols of the standard library have no page.
            is_unresolved = reference.get("type") == "unresolvable" and "/documentation/" in key
            if is_unresolved or target.startswith("/") and target not in pages:
                yield f"{name}: {key} does not exist"
            elif target.startswith("/") and anchor and f'"anchor":"{anchor}"' not in pages[target]:
                yield f"{name}: {target} has no heading {anchor}"
            for variant in reference.get("variants", []):
                if not (site / variant["url"].lstrip("/")).is_file():
                    yield f"{name}: {variant['url']} does not exist"


def main(output, flags):
    build(flags)
    docc = shutil.which("docc", path=pathlib.Path(shutil.which(SWIFT)).resolve().parent) or "docc"
    importing = compiler_flags(built_in(flags))
    with tempfile.TemporaryDirectory(prefix="inflight-docs-") as name:
        folder, archives, failed = pathlib.Path(name), [], []
        for module in MODULES:
            (folder / module).mkdir()
            run(SWIFT, "symbolgraph-extract", "-module-name", module, *importing, "-output-dir", folder / module,
                "-minimum-access-level", "public", "-skip-synthesized-members", "-emit-extension-block-symbols")
        modules = {module: names(folder / module) for module in MODULES}
        for module in MODULES:
            complete_links(module, folder / module, modules)
            assemble(module, folder / f"{module}.docc", modules)
            archive, found = convert(docc, module, folder, archives)
            archives.append(archive)
            failed += found
        if not failed:
            shutil.rmtree(output, ignore_errors=True)
            output.parent.mkdir(parents=True, exist_ok=True)
            # `Inflight` is last: the sidebar shows the first module of a name, and that page's topics name all modules.
            run(docc, "merge", *archives, "--output-path", output)
            failed += dead_links(output)
            (output / "index.html").write_text(FRONT_PAGE, encoding="utf-8")
            (output / "theme-settings.json").write_text("{}\n", encoding="utf-8")
    return "\n".join(failed) or 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
