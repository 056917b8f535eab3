"""`python -m inflight batch list.parquet -o DIR`: the command, with Parquet files as its input.

The rows of the files are written into the command's standard input as JSON Lines. Everything else is passed on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from inflight import command as commands
from inflight.errors import ColumnError, InflightError

USAGE_ERROR, DATA_ERROR, NO_INPUT, UNAVAILABLE = 64, 65, 66, 69


def main(arguments: list[str]) -> int:
    try:
        path = commands.find()
    except InflightError as error:
        return fail(UNAVAILABLE, str(error))
    files = [argument for argument in arguments if argument.lower().endswith(".parquet")]
    if arguments[:1] != ["batch"] or not files:
        os.execv(path, [path, *arguments])
    rest = [argument for argument in arguments if argument not in files]
    if {"-", "--stream", "--input-format"} & set(rest):
        return fail(USAGE_ERROR, "Parquet files cannot be combined with '-', '--stream' or '--input-format'.")
    try:
        from inflight.arrow import check_columns, json_lines
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return fail(UNAVAILABLE, "Reading Parquet files needs pyarrow: pip install 'inflight-images[parquet]'")

    columns = [value(rest, "--url-column") or "url", value(rest, "--id-column"), value(rest, "--caption-column")]
    for file in files:
        try:
            check_columns(pq.read_schema(file), columns[0] or "", columns[1], columns[2], [])
        except ColumnError as error:
            return fail(DATA_ERROR, f"{file}: {error}")
        except pa.ArrowInvalid as error:
            return fail(DATA_ERROR, f"{file}: {error}")
        except OSError as error:
            return fail(NO_INPUT, f"{file}: {error.strerror or error}")

    def lines() -> Iterator[bytes]:
        for file in files:
            with pq.ParquetFile(file) as parquet:
                yield from map(json_lines, parquet.iter_batches(batch_size=1024))

    return run([path, "batch", "-", *rest[1:], "--input-format", "jsonl"], lines())


def run(arguments: list[str], lines: Iterator[bytes]) -> int:
    """Runs the command on these lines. Returns its exit status."""
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE)
    assert process.stdin
    # A terminal sends Ctrl-C to the command too, which then finishes in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        feed(process.stdin, lines)
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return status if status >= 0 else 128 - status


def feed(stream: IO[bytes], lines: Iterator[bytes]) -> None:
    try:
        with stream:
            for line in lines:
                stream.write(line)
    except BrokenPipeError:
        # The command has ended early; its status tells why.
        pass


def value(arguments: list[str], option: str) -> str | None:
    """The last value of an option, in the form `--option VALUE` or `--option=VALUE`."""
    found = None
    for index, argument in enumerate(arguments):
        if argument == option:
            found = next(iter(arguments[index + 1 :]), None)
        elif argument.startswith(option + "="):
            found = argument.partition("=")[2]
    return found


def fail(status: int, message: str) -> int:
    print(f"inflight: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
