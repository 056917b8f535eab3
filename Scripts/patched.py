"""What the proofs by deliberate faults share: a copy of the sources, and one patch at a time on it."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAULTS = ROOT / "Scripts" / "Faults"
SWIFT = os.environ.get("SWIFT", "swift")


def files_in(folders):
    """All files of these folders, from the project's root."""
    return {path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()}


def copy_sources(copy, wanted):
    """Has in the folders of the copy what is wanted and nothing else; what is the same keeps its time, so that little is
    built again."""
    copy.mkdir(parents=True, exist_ok=True)
    for part in {path.parts[0] for path in wanted}:
        for path in [path for path in (copy / part).rglob("*") if path.is_file()]:
            if path.relative_to(copy) not in wanted:
                path.unlink()
    for path in wanted:
        write(copy / path, (ROOT / path).read_bytes())


def write(target, content):
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def patches_in(folder, names):
    """The faults of a folder; with names, those alone."""
    patches = sorted(folder.glob("*.patch"))
    if unknown := set(names) - {patch.stem for patch in patches}:
        sys.exit(f"no such fault: {', '.join(sorted(unknown))}")
    return [patch for patch in patches if not names or patch.stem in names]


@contextlib.contextmanager
def applied(copy, patch):
    """The copy with the fault, and as it was afterwards."""
    names = re.findall(r"^\+\+\+ (\S+)", patch.read_text(), re.MULTILINE)
    before = {copy / name: (copy / name).read_bytes() for name in names}
    done = subprocess.run(
        ["git", "apply", "-p0", "-C1", "--recount", str(patch)], cwd=copy, capture_output=True, text=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)},
    )
    if done.returncode != 0:
        sys.exit(f"{patch.name} does not apply any more; make it anew from today's sources:\n{done.stderr}")
    try:
        yield
    finally:
        for path, content in before.items():
            path.write_bytes(content)
