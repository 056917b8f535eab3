"""Python packages for tests, installed into a temporary environment."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile


@contextlib.contextmanager
def environment(*arguments):
    """A folder with a virtual environment, in which `pip` has run with these arguments. Yields folder and Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, stdout=subprocess.DEVNULL)
        python = folder / "venv" / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True, cwd=folder)
        yield folder, python
