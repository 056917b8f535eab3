"""`python -m inflight batch list.parquet -o DIR`: the command, with Parquet files as its input.

The rows of the files are written into the command's standard input as JSON Lines, and `--rows-of` names the files, so
that the command's messages name a file and a row in it. Everything else is passed on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

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
    rest = [argument for argument in arguments[1:] if argument not in files]
    if {"-", "--stream", "--input-format"} & set(rest):
        return fail(USAGE_ERROR, "Parquet files cannot be combined with '-', '--stream' or '--input-format'.")
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from inflight.arrow import check_columns, json_lines
    except ImportError:
        return fail(UNAVAILABLE, "Reading Parquet files needs pyarrow: pip install 'inflight-images[parquet]'")

    url = value(rest, "--url-column") or "url"
    names: list[str] = []
    for file in files:
        try:
            metadata = pq.read_metadata(file)
            schema = metadata.schema.to_arrow_schema()
            check_columns(schema, url, value(rest, "--id-column"), value(rest, "--caption-column"))
            names += ["--rows-of", f"{os.path.abspath(file)}={metadata.num_rows}"]
        except (ColumnError, pa.ArrowInvalid) as error:
            return fail(DATA_ERROR, f"{file}: {error}")
        except OSError as error:
            return fail(NO_INPUT, f"{file}: {os.strerror(error.errno) if error.errno else error}")

    def lines() -> Iterator[bytes]:
        for file in files:
            with pq.ParquetFile(file) as parquet:
                yield from map(json_lines, parquet.iter_batches(batch_size=1024))

    return run([path, "batch", "-", *rest, "--input-format", "jsonl", *names], lines())


def run(arguments: list[str], lines: Iterator[bytes]) -> int:
    """Runs the command on these lines. Returns its exit status."""
    ending = commands.dies_with_parent()
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, bufsize=0, preexec_fn=ending) as process:
        assert process.stdin
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the command too, which handles it
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            all(commands.write(process.stdin, line) for line in lines)
            process.stdin.close()
        except BaseException:
            process.kill()
            raise
        status = process.wait()
    return status if status >= 0 else 128 - status


def value(arguments: list[str], option: str) -> str | None:
    """The last value of an option, in the form `--option VALUE` or `--option=VALUE`."""
    pairs = zip(arguments, [*arguments[1:], None], strict=False)
    forms = [next if name == option else name.partition("=")[2] for name, next in pairs if name.split("=")[0] == option]
    return forms[-1] if forms else None


def fail(status: int, message: str) -> int:
    print(f"inflight: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
