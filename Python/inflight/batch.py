"""`python -m inflight batch`: the command, with what this package adds: lists in Parquet, datasets in Parquet and
TFRecord, lists and outputs in object stores.

The rows of Parquet files are written into the command's standard input as JSON Lines, and `--rows-of` names the files,
so that the command's messages name a file and a row in it. Other lists with a URL are written there as they are. Shards
are converted when the command has ended: see `layouts`. Shards of an output with a URL are uploaded by `--then`: see
`uploads`. Everything else is passed on.
"""

import collections
import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from inflight import command as commands
from inflight.errors import DatasetError, InflightError, InputError, ListError
from inflight.inputs import ListFile, content, list_files
from inflight.layouts import LAYOUTS, ConvertedFolder
from inflight.stores import ObjectStore, check_url
from inflight.uploads import (
    FILES, Scratch, Uploads, object_store, owner, problems, records, scratch_folder, statistics)

if TYPE_CHECKING:
    from inflight.lists import ParquetList

FAILURE, USAGE_ERROR, DATA_ERROR, NO_INPUT, UNAVAILABLE, CANNOT_WRITE, TRANSIENT = 1, 64, 65, 66, 69, 73, 75
ENDINGS = {0, FAILURE, DATA_ERROR, TRANSIENT}
"""The exit statuses of the command after which its shards are those of all rows."""
ACTIONS = {"status", "retry", "verify"}
FLAGS = {
    "--allow-private", "--binary", "--enlarge", "--ignore-robots", "--json", "--keep-local", "--keep-metadata",
    "--keep-smaller", "--linear", "--lossless", "--progressive", "--quiet", "--raw", "--raw-if-unchanged",
    "--stream", "--strict", "--svg", "--help", "-h", "--version",
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

    def replace(self, name: str, value: str) -> None:
        """Sets an option in place of its other values."""
        self.options = [option for option in self.options if option[0] != name] + [(name, value)]

    def texts(self) -> list[str]:
        """The arguments as texts again."""
        options = [text for option in self.options for text in option if text is not None]
        hidden = [text for text in self.inputs if text.startswith("-") and text != "-"]
        shown = [text for text in self.inputs if text not in hidden]
        return [*([self.action] if self.action else []), *shown, *options, *(["--", *hidden] if hidden else [])]


def main(path: str, texts: list[str]) -> int:
    """Runs the command at `path` with arguments after `batch`. Returns its exit status."""
    arguments = Arguments.parsed(texts)
    try:
        if store := output_store(arguments):
            return on_store(path, arguments, store)
        dataset = None
        if arguments.action and len(arguments.inputs) == 1:
            dataset = ConvertedFolder.opened(arguments.inputs[0])
            if dataset:
                arguments.inputs = [dataset.run]
        lists, lines = rows_to_give(arguments)
        if arguments.action is None:
            dataset = converted_folder(arguments, lists)
        if not lines and not dataset:
            given = texts if arguments == Arguments.parsed(texts) else arguments.texts()
            os.execv(path, [path, "batch", *given])
        status = run([path, "batch", *arguments.texts()], lines)
        return finish(arguments, dataset, status) if dataset else status
    except ListError as error:
        return fail(NO_INPUT if error.cannot_open else DATA_ERROR, str(error))
    except InputError as error:
        return fail(NO_INPUT, str(error))
    except DatasetError as error:
        return fail(CANNOT_WRITE, str(error))
    except Refusal as error:
        return fail(error.status, str(error))


# Inputs


def rows_to_give(arguments: Arguments) -> "tuple[list[ParquetList], Iterator[bytes] | None]":
    """Returns the Parquet files of a run, and what the command has to read from standard input, if anything."""
    files = [] if arguments.action else list_urls(arguments)
    lists = parquet_lists(arguments, files)
    if not lists and not files:
        return [], None
    lines = rows_of(lists)
    format = "jsonl"
    if files and not lists:
        format = files[0].format
        lines = content(files, format in ("csv", "tsv") and not arguments.has("--columns-are"))
    # A retry has stored where its rows come from.
    if arguments.action is None:
        arguments.inputs = ["-"]
        arguments.replace("--input-format", format)
        arguments.options += [("--rows-of", f"{one.path}={one.rows}") for one in lists]
    return lists, lines


def list_urls(arguments: Arguments) -> list[ListFile]:
    """Returns the inputs that are URLs, without any if the command reads its inputs itself."""
    if arguments.has("--help", "-h", "--version"):
        return []
    try:
        urls = [operand for operand in arguments.inputs if check_url(operand) and not os.path.lexists(operand)]
    except DatasetError as error:
        raise Refusal(USAGE_ERROR, str(error)) from None
    if not urls:
        return []
    if other := next((operand for operand in arguments.inputs if operand not in urls), None):
        raise Refusal(USAGE_ERROR, f"URLs and other inputs cannot be combined in one run: '{other}'.")
    if option := next((name for name in ("--stream", "--rows-of") if arguments.has(name)), None):
        raise Refusal(USAGE_ERROR, f"Inputs with a URL cannot be combined with {option}.")
    files = list_files(urls, {}, arguments.value("--input-format"))
    if other := next((file for file in files if file.format != files[0].format), None):
        raise Refusal(USAGE_ERROR, f"Inputs with a URL have one format, but '{files[0].name}' and '{other.name}' have "
                                   "different ones.")
    return files


def parquet_lists(arguments: Arguments, urls: Sequence[ListFile]) -> "list[ParquetList]":
    """Returns the Parquet files that the command has to be given, none if it reads its inputs itself."""
    if arguments.has("--help", "-h", "--version"):
        return []
    if urls:
        return opened(urls, arguments) if urls[0].format == "parquet" else []
    if arguments.action == "retry" and len(arguments.inputs) == 1:
        return unkept_lists(arguments)
    given = arguments.value("--input-format")
    if arguments.action is not None or given not in (None, "parquet"):
        return []
    inputs = [files_of(operand, given == "parquet") for operand in arguments.inputs]
    files = [path for found in inputs for path in found]
    if given and not files:
        raise Refusal(USAGE_ERROR, "--input-format parquet needs Parquet files as inputs.")
    if not files:
        return []
    if not all(inputs):
        other = next(operand for operand, found in zip(arguments.inputs, inputs, strict=True) if not found)
        raise Refusal(USAGE_ERROR, f"Parquet files and other inputs cannot be combined in one run: '{other}'.")
    if option := next((name for name in ("--stream", "--rows-of") if arguments.has(name)), None):
        raise Refusal(USAGE_ERROR, f"Parquet files cannot be combined with {option}.")
    return opened(files, arguments)


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


def unkept_lists(arguments: Arguments) -> "list[ParquetList]":
    """Returns the Parquet files of a run that was interrupted before it kept a copy of all rows."""
    saved = saved_command(arguments.inputs[0])
    if os.path.exists(os.path.join(arguments.inputs[0], "input.zst")) or "-" not in saved.inputs:
        return []
    files = [value.rpartition("=")[0] for name, value in saved.options if name == "--rows-of" and value]
    known = Arguments(options=saved.options + arguments.options)
    return opened(list_files(files, {}, "parquet") if any(map(check_url, files)) else files, known) if files else []


def saved_command(folder: str) -> Arguments:
    """The arguments of a run, without any if they cannot be read: the command says why."""
    try:
        with open(os.path.join(folder, "command.json"), encoding="utf-8") as file:
            return Arguments.parsed(json.load(file))
    except (OSError, ValueError, TypeError, AttributeError):
        return Arguments()


def opened(files: "Sequence[str | ListFile]", arguments: Arguments) -> "list[ParquetList]":
    """Reads the footers of files."""
    import_pyarrow("Reading Parquet files")
    from inflight.lists import Columns, ParquetList

    own = ("--url-column", "--id-column", "--caption-column")
    url, id, caption = map(arguments.value, own)
    others = [value for name, value in arguments.options if name.endswith("-column") and name not in own]
    others += (arguments.value("--columns") or "").split(",")
    columns = Columns(url or "url", id, caption, [name for name in others if name])
    return [ParquetList.opened(file, columns) for file in files]


def import_pyarrow(purpose: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise Refusal(UNAVAILABLE, f"{purpose} needs pyarrow: pip install 'inflight-images[parquet]'") from None


def rows_of(lists: "Iterable[ParquetList]") -> Iterator[bytes]:
    for one in lists:
        yield from one.lines()


# Layouts


def converted_folder(arguments: Arguments, lists: "Sequence[ParquetList]") -> ConvertedFolder | None:
    """Creates the folder for a layout that the command lacks, and has the command write into a folder in it."""
    layout, folder = arguments.value("--layout"), arguments.value("-o")
    if layout not in LAYOUTS or not folder or arguments.has("--help", "-h", "--version"):
        return None
    schema = None
    if layout == "parquet":
        import_pyarrow("--layout parquet")
        from inflight.lists import common_schema

        schema = common_schema(lists)
    dataset = ConvertedFolder.created(folder, layout, schema)
    arguments.replace("-o", dataset.run)
    arguments.replace("--layout", "webdataset")
    return dataset


def finish(arguments: Arguments, dataset: ConvertedFolder, status: int) -> int:
    """Converts what the command has written, or compares it. Returns the exit status."""
    if arguments.action is None:
        dataset.discard_unused()
    saved = saved_command(dataset.run)
    format = None if saved.has("--raw") else saved.value("--format")
    if dataset.layout == "parquet":
        import_pyarrow("The layout parquet")
    if arguments.action == "verify":
        for problem in dataset.problems(format):
            print(problem, file=sys.stderr if arguments.has("--json") else sys.stdout)
            status = max(status, FAILURE)
    # The command refuses lists that are not those of the run with DATA_ERROR. Their columns may have other types.
    elif arguments.action != "status" and status in ENDINGS and (status != DATA_ERROR or dataset.is_recorded):
        count = dataset.convert(format)
        if not arguments.has("--json", "--quiet"):
            shards = "1 shard" if count == 1 else f"{count} shards"
            print(f"{shards} converted to {dataset.layout} in {dataset.folder}", file=sys.stderr)
    return status


# Outputs in object stores


def output_store(arguments: Arguments) -> ObjectStore | None:
    """Returns the store of an output with a URL. The URL of a folder becomes its path."""
    if arguments.has("--help", "-h", "--version"):
        return None
    given = (arguments.inputs or [""])[0] if arguments.action else arguments.value("-o") or ""
    try:
        scheme = check_url(given)
        if scheme == "file":
            folder = given.partition("://")[2]
            if not folder.startswith("/"):
                raise Refusal(USAGE_ERROR, "A URL of a folder has the form file:///path.")
            if arguments.action:
                arguments.inputs[0] = folder
            else:
                arguments.replace("-o", folder)
        if scheme in ("", "file"):
            return None
        return object_store(given)
    except DatasetError as error:
        raise Refusal(UNAVAILABLE if isinstance(error.__cause__, ImportError) else USAGE_ERROR, str(error)) from None


def on_store(path: str, arguments: Arguments, store: ObjectStore) -> int:
    if option := next((name for name in ("--then", "--stream") if arguments.has(name)), None):
        raise Refusal(USAGE_ERROR, f"An output in an object store cannot be combined with {option}.")
    layout = arguments.value("--layout") or "webdataset"
    if layout != "webdataset":
        raise Refusal(USAGE_ERROR, f"An output in an object store has the layout webdataset, not '{layout}'.")
    folder = scratch_folder(store, arguments.value("--scratch"))
    arguments.options = [option for option in arguments.options if option[0] != "--scratch"]
    if arguments.action is None:
        _, lines = rows_to_give(arguments)
        scratch = Scratch.started(store, folder)
        arguments.replace("-o", scratch.output)
        return upload(path, arguments, scratch, lines)
    try:
        here = Scratch.opened(store, folder)
        if here and not os.path.exists(here.output):
            here = None
        if arguments.action == "status":
            return store_status(path, arguments, store, here)
        if arguments.action == "verify":
            return store_verify(path, arguments, store, here)
        if here is None:
            raise Refusal(NO_INPUT, f"Only the scratch folder of the run can retry rows. {elsewhere(store)}")
        here.check_owner()
        arguments.inputs = [here.output]
        classes = arguments.value("--class")
        here.restore(set(classes.split(",") if classes else command_status(path, here)["transientClasses"]))
    except DatasetError as error:
        raise Refusal(NO_INPUT, str(error)) from None
    return upload(path, arguments, here, rows_to_give(arguments)[1])


def upload(path: str, arguments: Arguments, scratch: Scratch, lines: Iterator[bytes] | None) -> int:
    """Runs the command, and uploads its shards. Returns its exit status."""
    if not arguments.has("--json", "--quiet"):
        print(f"Uploading to {scratch.store}. What a resumed run needs is in {scratch.folder}.", file=sys.stderr)
    with scratch.uploading() as uploads:
        arguments.replace("--then", scratch.program)
        status = run([path, "batch", *arguments.texts()], lines, uploads)
        if uploads.refusal:
            return fail(CANNOT_WRITE, f"{uploads.refusal}\nCorrect the cause, then run the same command again.")
    if arguments.action is None:
        scratch.discard_unused()
    if status in ENDINGS and os.path.exists(scratch.output):
        scratch.finish()
    return status


def command_status(path: str, scratch: Scratch) -> dict[str, Any]:
    """What the command says about a run, `Refusal` if it cannot read it."""
    done = subprocess.run([path, "batch", "status", scratch.output, "--json"], stdout=subprocess.PIPE)
    if done.returncode:
        raise Refusal(done.returncode, f"The status of the run in '{scratch.folder}' cannot be read.")
    return cast(dict[str, Any], json.loads(done.stdout))


def elsewhere(store: ObjectStore) -> str:
    return f"It is '{owner(store)[1]}'; if it was moved here, give it with --scratch DIR."


def store_status(path: str, arguments: Arguments, store: ObjectStore, scratch: Scratch | None) -> int:
    """Prints what the journal says, if it is here, and what is in the store."""
    shards = dict(statistics(store))
    if scratch is None and not shards:
        elsewhere(store)  # an error if there is no run
    found: dict[str, Any] = {"url": str(store), "shards": len(shards)}
    classes = sum(shards.values(), collections.Counter[str]())
    found |= {"rows": classes.total(), "images": classes.pop("success", 0), "classes": dict(classes.most_common())}
    if arguments.has("--json"):
        known = command_status(path, scratch) if scratch else {}
        print(json.dumps({**known, "store": found}))
        return 0
    if scratch:
        status = run([path, "batch", "status", scratch.output], None)
        print(f"  in the store {found['shards']} shards, {found['rows']} rows, {found['images']} images: {store}")
        return status
    print(f"{store}\n  shards  {found['shards']}\n  rows    {found['rows']}\n  images  {found['images']}")
    for name, count in classes.most_common():
        print(f"  {count} × {name}")
    print(f"Rows that are in no shard yet are counted in the scratch folder of the run. {elsewhere(store)}")
    return 0


def store_verify(path: str, arguments: Arguments, store: ObjectStore, scratch: Scratch | None) -> int:
    """Compares the files in the store with those that were uploaded, and has the command check what is here."""
    status = 0
    if scratch:
        status = run([path, "batch", "verify", scratch.output, *arguments.texts()[2:]], None)
        uploads = scratch.uploads()
    elif FILES in store.names(FILES):
        uploads = records(store.read(FILES))
    else:
        raise Refusal(NO_INPUT, f"'{store}' has no '{FILES}', because its run has not ended. What was uploaded is "
                                f"recorded in the scratch folder of the run. {elsewhere(store)}")
    stream = sys.stderr if arguments.has("--json") else sys.stdout
    for problem in problems(store, uploads.values()):
        print(problem, file=stream)
        status = max(status, FAILURE)
    print(f"{len(uploads)} files compared in {store}", file=stream)
    return status


# The command


def run(arguments: list[str], lines: Iterator[bytes] | None, uploads: Uploads | None = None) -> int:
    """Runs the command on these lines, or on standard input. Returns its exit status."""
    ending = commands.dies_with_parent()
    try:
        stdin = None if lines is None else subprocess.PIPE
        process = subprocess.Popen(arguments, stdin=stdin, bufsize=0, preexec_fn=ending)
    except OSError as error:  # too many files for the arguments of a process
        return fail(USAGE_ERROR, f"'{arguments[0]}' cannot be started: {os.strerror(error.errno or 0)}")
    if uploads:
        uploads.on_refusal = process.terminate
    with process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the command too, which handles it
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            if process.stdin and lines:
                all(commands.write(process.stdin, line) for line in lines)
                process.stdin.close()
        except (ListError, InputError):
            # The end of its input would mean that there are no more rows. All of its lines are whole.
            process.terminate()
            process.wait()
            raise
        except BaseException:
            process.kill()
            raise
        status = process.wait()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return status if status >= 0 else 128 - status


def fail(status: int, message: str) -> int:
    print(f"inflight: {message}", file=sys.stderr)
    return status
