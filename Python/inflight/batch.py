"""`python -m inflight batch LIST.parquet… -o DIR`: the command, with Parquet files as its input.

The rows of the files are written into the command's standard input as JSON Lines, and `--rows-of` names the files, so
that the command's messages name a file and a row in it. Everything else is passed on.
"""

import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inflight import command as commands
from inflight.errors import InflightError, ListError

if TYPE_CHECKING:
    from inflight.lists import ParquetList

USAGE_ERROR, DATA_ERROR, NO_INPUT, UNAVAILABLE = 64, 65, 66, 69
ACTIONS = {"status", "retry", "verify"}
FLAGS = {
    "--allow-private", "--enlarge", "--ignore-robots", "--json", "--keep-metadata", "--keep-smaller", "--linear",
    "--lossless", "--progressive", "--quiet", "--raw", "--raw-if-unchanged", "--stream", "--strict", "--svg", "--help",
    "-h", "--version",
}
"""The options of `inflight batch` without a value. All others have one."""


class Refusal(InflightError):
    """An error with an exit status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Arguments:
    """The arguments of `inflight batch`, read as the command reads them."""

    action: str | None = None
    inputs: list[str] = field(default_factory=list)
    """The inputs, or the folder of the action."""
    options: list[tuple[str, str | None]] = field(default_factory=list)

    @classmethod
    def parsed(cls, texts: Iterable[str]) -> "Arguments":
        found = cls()
        rest = iter(texts)
        for text in rest:
            if text == "--":
                for operand in rest:
                    found._add(operand)
            elif text == "-" or not text.startswith("-"):
                found._add(text)
            else:
                is_long = text.startswith("--")
                name, equals, attached = text.partition("=") if is_long else (text[:2], text[2:], text[2:])
                if name in FLAGS:
                    found.options.append((text, None))
                else:
                    found.options.append((name, attached if equals else next(rest, None)))
        return found

    def _add(self, operand: str) -> None:
        if self.action is None and not self.inputs and operand in ACTIONS:
            self.action = operand
        else:
            self.inputs.append(operand)

    def value(self, *names: str) -> str | None:
        """The last value of an option."""
        return next((value for name, value in reversed(self.options) if name in names), None)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def texts(self, *omitted: str) -> list[str]:
        """The options as arguments, without those of these names."""
        return [text for option in self.options if option[0] not in omitted for text in option if text is not None]


def main(path: str, texts: list[str]) -> int:
    """Runs the command at `path` with arguments after `batch`. Returns its exit status."""
    arguments = Arguments.parsed(texts)
    try:
        files = parquet_files(arguments)
        if not files:
            os.execv(path, [path, "batch", *texts])
        if arguments.action is None:
            return download(path, arguments, files)
        return run([path, "batch", *texts], rows_of(opened(files, arguments)))
    except ListError as error:
        return fail(NO_INPUT if error.cannot_open else DATA_ERROR, str(error))
    except Refusal as error:
        return fail(error.status, str(error))


def download(path: str, arguments: Arguments, files: list[str]) -> int:
    if other := next((name for name in ("--stream", "--rows-of") if arguments.has(name)), None):
        raise Refusal(USAGE_ERROR, f"Parquet files cannot be combined with {other}.")
    lists = opened(files, arguments)
    names = [text for one in lists for text in ("--rows-of", f"{one.path}={one.rows}")]
    options = [*arguments.texts("--input-format"), "--input-format", "jsonl", *names]
    return run([path, "batch", "-", *options], rows_of(lists))


# Inputs


def parquet_files(arguments: Arguments) -> list[str]:
    """Returns the Parquet files that the command has to be given, none if it reads its inputs itself."""
    if arguments.has("--help", "-h", "--version"):
        return []
    if arguments.action == "retry" and len(arguments.inputs) == 1:
        return unkept_files(arguments)
    given = arguments.value("--input-format")
    if arguments.action is not None or given not in (None, "parquet"):
        return []
    inputs = [files_of(operand, given == "parquet") for operand in arguments.inputs]
    found = [path for files in inputs for path in files]
    if found and not all(inputs):
        other = arguments.inputs[next(n for n, files in enumerate(inputs) if not files)]
        raise Refusal(USAGE_ERROR, f"Parquet files and other inputs cannot be combined in one run: '{other}'.")
    if given and not found:
        raise Refusal(USAGE_ERROR, "--input-format parquet needs Parquet files as inputs.")
    return found


def files_of(operand: str, is_parquet: bool) -> list[str]:
    """Returns the Parquet files that an input stands for, in the order of their names, none for other inputs.

    As in the command, an input is a file, a pattern, or a folder of files whose names tell their format.
    """
    paths = [operand]
    if any(letter in operand for letter in "*?[") and not os.path.lexists(operand):
        paths = sorted(glob.glob(operand), key=os.fsencode)
        if not paths and is_parquet_name(operand):
            raise ListError(f"{operand}: No file matches the pattern.", cannot_open=True)
    return [
        file for path in paths if path != "-" for file in (inside(path) if os.path.isdir(path) else [path])
        if is_parquet or is_parquet_name(file)
    ]


def inside(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise ListError(f"{folder}: {os.strerror(error.errno or 0)}", cannot_open=True) from None
    paths = (os.path.join(folder, name) for name in names if is_parquet_name(name) and not name.startswith("."))
    return sorted((path for path in paths if not os.path.isdir(path)), key=os.fsencode)


def is_parquet_name(path: str) -> bool:
    return path.lower().endswith(".parquet")


def unkept_files(arguments: Arguments) -> list[str]:
    """Returns the Parquet files of a run that was interrupted before it kept a copy of all rows.

    Its options become those of the retry.
    """
    folder = arguments.inputs[0]
    try:
        with open(os.path.join(folder, "command.json"), encoding="utf-8") as file:
            saved = Arguments.parsed(json.load(file))
    except (OSError, ValueError, TypeError, AttributeError):
        return []  # the command says what is wrong
    if os.path.exists(os.path.join(folder, "input.zst")) or "-" not in saved.inputs:
        return []
    arguments.options = saved.options + arguments.options
    return [value.rpartition("=")[0] for name, value in saved.options if name == "--rows-of" and value]


def opened(files: Sequence[str], arguments: Arguments) -> "list[ParquetList]":
    """Reads the footers of files."""
    try:
        from inflight.lists import Columns, ParquetList
    except ImportError:
        raise Refusal(
            UNAVAILABLE, "Reading Parquet files needs pyarrow: pip install 'inflight-images[parquet]'") from None
    others = [arguments.value("--sha256-column"), arguments.value("--md5-column")]
    others += (arguments.value("--columns") or "").split(",")
    columns = Columns(
        arguments.value("--url-column") or "url", arguments.value("--id-column"), arguments.value("--caption-column"),
        [name for name in others if name])
    return [ParquetList.opened(file, columns) for file in files]


def rows_of(lists: "Iterable[ParquetList]") -> Iterator[bytes]:
    for one in lists:
        yield from one.lines()


# The command


def run(arguments: list[str], lines: Iterator[bytes]) -> int:
    """Runs the command on these lines. Returns its exit status."""
    ending = commands.dies_with_parent()
    try:
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, bufsize=0, preexec_fn=ending)
    except OSError as error:  # too many files for the arguments of a process
        return fail(USAGE_ERROR, f"'{arguments[0]}' cannot be started: {os.strerror(error.errno or 0)}")
    with process:
        assert process.stdin
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the command too, which handles it
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            all(commands.write(process.stdin, line) for line in lines)
            process.stdin.close()
        except ListError:
            # The end of its input would mean that there are no more rows. All of its lines are whole.
            process.terminate()
            process.wait()
            raise
        except BaseException:
            process.kill()
            raise
        status = process.wait()
    return status if status >= 0 else 128 - status


def fail(status: int, message: str) -> int:
    print(f"inflight: {message}", file=sys.stderr)
    return status
