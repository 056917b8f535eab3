"""A client of `inflight batch --stream`. The protocol is documented in `Documentation/StreamProtocol.md`."""

import contextlib
import io
import json
import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from inflight import command as commands
from inflight.command import Option
from inflight.errors import ColumnError, CommandFailed, ProtocolError

Row = str | Mapping[str, Any] | None
"""A URL, or a mapping with `url` and perhaps `id`. `None` is a row without a URL."""

WINDOW, RESTARTS = 1024, 3
_USAGE_ERROR = 64
_MEMBERS = (
    "status", "error_class", "error_message", "is_transient", "width", "height", "original_width", "original_height",
    "exif", "sha256", "format", "size")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one row.

    `status` is `success`, `failed_to_download`, `failed_to_resize` or `rejected`. `input` is the row as it was given.
    `error` is a message, and `error_class` the class that failures are counted by. `is_transient` tells whether a later
    attempt may succeed. With the option `files`, `file` is the path of the image, and `image` is `None`.
    """

    input: Any
    id: str | None
    url: str | None
    status: str
    error: str | None = None
    error_class: str | None = None
    is_transient: bool = False
    image: bytes | None = None
    file: str | None = None
    width: int | None = None
    height: int | None = None
    original_width: int | None = None
    original_height: int | None = None
    exif: str | None = None
    sha256: str | None = None
    format: str | None = None
    size: int | None = None


@dataclass(slots=True)
class _Unanswered:
    """A row without an answer."""

    input: Any
    id: str | None
    url: str | None
    deaths: int = 0


class _Process:
    """One process of the command, from its first line to its end."""

    def __init__(self, path: str, arguments: list[str], has_files: bool) -> None:
        self.protocol = 1 if has_files else 2
        self.arguments = [path, "batch", "--stream", *([] if has_files else ["--binary"]), *arguments]
        self._process = subprocess.Popen(
            self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input = self._process.stdin
        # A thread that is about to write would write to another file, if the descriptor was closed and used again.
        self._writing = threading.Lock()
        # Images are longer than the default buffer.
        self._output = io.BufferedReader(self._process.stdout, 1 << 20)  # type: ignore[type-var]
        self._errors = commands.Tail(self._process.stderr)
        self.rows: dict[int, int] = {}
        """The numbers of the rows that were written, by line."""
        self._lines = 0

    def register(self, number: int) -> None:
        """Records that the next line is this row's."""
        self._lines += 1
        self.rows[self._lines] = number

    def write(self, line: bytes) -> None:
        # If the process has ended, the reader finds the end of its output.
        with self._writing:
            if not self._input.closed:
                commands.write(self._input, line)

    def read(self) -> tuple[dict[str, Any], bytes | None] | None:
        """Returns the next line with its image, or `None` at the end of the output, even if either is incomplete."""
        line = self._output.readline()
        if not line.endswith(b"\n"):
            return None
        value = None
        with contextlib.suppress(ValueError):
            value = json.loads(line)
        if not isinstance(value, dict):
            raise ProtocolError(f"'{self.arguments[0]}' wrote a line that is not a JSON object: {line[:200]!r}")
        if self.protocol == 1 or value.get("status") != "success":
            return value, None
        size = value.get("size")
        if not isinstance(size, int) or size < 0:
            raise ProtocolError(f"'{self.arguments[0]}' wrote an image without its size: {line[:200]!r}")
        image = self._output.read(size)
        return (value, image) if len(image) == size else None

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def failure(self) -> CommandFailed:
        """Ends the process, whose output has ended. Returns the error that describes it."""
        self.stop(after=10)
        return CommandFailed(f"'{' '.join(self.arguments)}'", self._process.returncode, self._errors.text())

    def finish(self) -> None:
        """Ends the input of a process without unanswered rows, and waits for its end."""
        self._input.close()
        self.stop(after=10)

    def stop(self, after: float = 0) -> None:
        """Waits for the end of the process for some seconds, then kills it."""
        try:
            self._process.wait(after)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Writes to a process that has ended fail at once.
        with self._writing:
            self._input.close()
        self._output.close()


@dataclass(slots=True)
class _Session:
    """One call of `fetch`. The condition guards what the caller's thread shares with the two that serve it."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    process: _Process | None = None
    unanswered: dict[int, _Unanswered] = field(default_factory=dict)
    unwritten: deque[int] = field(default_factory=deque)
    count: int = 0
    has_ended: bool = False
    """Whether the rows have ended, perhaps with `error`."""
    error: BaseException | None = None
    is_closed: bool = False


class Client:
    """A process of the command for many rows, which is restarted if it dies. Not thread-safe.

    ```python
    with Client(size="256x256", format="jpeg") as client:
        for result in client.fetch(rows): ...
        for result in client.fetch(more): ...
    ```

    Keyword arguments are options of `inflight batch --stream`. `command` is the command's path (default: `$INFLIGHT`,
    else `inflight` on `PATH`). `window` is the maximum number of rows without a result. A row that had no result when
    the process died is asked again up to `restarts` times; then `fetch` raises `CommandFailed`.
    """

    def __init__(
        self, *, command: str | None = None, restarts: int = RESTARTS, window: int = WINDOW, **options: Option,
    ) -> None:
        self._path = commands.find(command)
        self._arguments = commands.arguments(options)
        files = options.get("files")
        self._files = files if isinstance(files, str) else None
        self._restarts = restarts
        self._window = max(1, window)
        self._process: _Process | None = None
        self.version: str | None = None
        """The version of the command, once a process has started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        if self._process:
            self._process.finish()
            self._process = None

    def fetch(self, rows: Iterable[Row]) -> Iterator[Result]:
        """Yields a result for each row, as fetches finish, not in the order of the rows.

        A row is a URL, or a mapping with `url` and perhaps `id`. A row whose URL is `None` is rejected. Another thread
        iterates over the rows, at most `window` ahead of the results. An error of the iteration is raised after the
        results of all rows before it. If the caller abandons the results, the process is killed.

        Raises `TypeError` at once for a single row, and for a table, which iterates over its columns.
        """
        _check_rows(rows)
        return self._fetch(rows)

    def _fetch(self, rows: Iterable[Row]) -> Iterator[Result]:
        session = _Session(process=self._running())
        for target, arguments in ((self._read_rows, (session, rows)), (self._write_rows, (session,))):
            threading.Thread(target=target, args=arguments, name="inflight-rows", daemon=True).start()
        try:
            yield from self._results(session)
        finally:
            with session.changed:
                session.is_closed = True
                session.changed.notify_all()
            # A later call must not get the answers of these rows.
            if (session.unanswered or not session.has_ended) and self._process:
                self._process.stop()
                self._process = None

    # The caller's thread

    def _results(self, session: _Session) -> Iterator[Result]:
        while True:
            with session.changed:
                session.changed.wait_for(lambda: session.unanswered or session.has_ended)
                if not session.unanswered:
                    break
            assert session.process
            answer = session.process.read()
            if answer is None:
                self._restart(session)
            else:
                yield self._result(*answer, session)
        if session.error:
            raise session.error

    def _result(self, answer: dict[str, Any], image: bytes | None, session: _Session) -> Result:
        with session.changed:
            assert session.process
            number = session.process.rows.pop(answer.get("line", 0), None)
            row = None if number is None else session.unanswered.pop(number, None)
            session.changed.notify_all()
        if row is None or answer.get("id") not in (None, str(number)) or not isinstance(answer.get("status"), str):
            raise ProtocolError(f"'{self._path}' wrote an answer to a row that it was not given: {str(answer)[:200]}")
        file = answer.get("file")
        values: dict[str, Any] = {name: answer.get(name) for name in _MEMBERS}
        return Result(
            input=row.input, id=row.id, url=row.url, error=values.pop("error_message"), image=image,
            file=os.path.join(self._files, file) if self._files and file else file, **values)

    def _restart(self, session: _Session) -> None:
        assert session.process
        failure = session.process.failure()
        self._process = None
        with session.changed:
            for row in session.unanswered.values():
                row.deaths += 1
                if row.deaths > self._restarts:
                    raise failure
        process = self._running()
        with session.changed:
            session.process = process
            session.unwritten = deque(session.unanswered)
            session.changed.notify_all()

    def _running(self) -> _Process:
        """Returns the process, after starting it if there is none."""
        if self._process and self._process.has_ended():
            self._process.stop()
            self._process = None
        failures = 0
        while not self._process:
            process = _Process(self._path, self._arguments, self._files is not None)
            try:
                first = process.read()
                if first is None:
                    failure = process.failure()
                    failures += 1
                    if failure.status == _USAGE_ERROR or failures > self._restarts:
                        raise failure
                    continue
                hello, _ = first
                if hello.get("protocol") != process.protocol:
                    raise ProtocolError(
                        f"'{self._path}' (version {hello.get('version')}) speaks protocol {hello.get('protocol')} of "
                        f"'batch --stream', but this package needs {process.protocol}. Install both from one release.")
            except BaseException:
                process.stop()
                raise
            self.version, self._process = hello.get("version"), process
        return self._process

    # The thread that reads the caller's rows

    def _read_rows(self, session: _Session, rows: Iterable[Row]) -> None:
        error = None
        try:
            for row in rows:
                self._add(session, row)
                if session.is_closed:
                    return
        except BaseException as raised:
            error = raised
        with session.changed:
            session.error = error
            session.has_ended = True
            session.changed.notify_all()

    def _add(self, session: _Session, row: Row) -> None:
        id, url = (row.get("id"), row.get("url", _ABSENT)) if isinstance(row, Mapping) else (None, row)
        # Data frames have NaN for null.
        if not isinstance(row, str | Mapping | None) and row == row:
            raise ColumnError(f"A row is neither a URL nor a mapping with 'url', but {_kind(row)}: {str(row)[:200]}")
        if url is _ABSENT:
            raise ColumnError(f"A row has no member 'url': {str(row)[:200]}")
        # The command rejects null, as it does other malformed rows.
        text = url if isinstance(url, str) else None
        with session.changed:
            session.count += 1
            session.unanswered[session.count] = _Unanswered(row, None if id is None else str(id), text)
            session.unwritten.append(session.count)
            session.changed.notify_all()
            session.changed.wait_for(lambda: session.is_closed or len(session.unanswered) < self._window)

    # The thread that writes to the process

    @staticmethod
    def _write_rows(session: _Session) -> None:
        while True:
            with session.changed:
                session.changed.wait_for(lambda: session.unwritten or session.is_closed)
                if session.is_closed:
                    return
                number, process = session.unwritten.popleft(), session.process
                row = session.unanswered.get(number)
                if not row or not process:
                    continue
                process.register(number)
            process.write(json.dumps({"id": str(number), "url": row.url}).encode() + b"\n")


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


_ROWS_OF_TABLES = {
    "pandas": "df.to_dict('records')", "polars": "df.iter_rows(named=True)", "pyarrow": "table.to_pylist()",
    "pyspark": "inflight.spark.fetch(df)", "ray": "inflight.ray.fetch(ds)",
}


def _check_rows(rows: object) -> None:
    """Raises `TypeError` for what can be iterated over, but not by rows."""
    if isinstance(rows, str | bytes | Mapping):
        raise TypeError(f"The rows are one {_kind(rows)}. Pass a list, even for one row: fetch([row]).")
    library = _kind(rows).partition(".")[0]
    # Those of Hugging Face have names of columns, and iterate over their rows.
    if library != "datasets" and (hasattr(rows, "columns") or hasattr(rows, "column_names")):
        remedy = _ROWS_OF_TABLES.get(library, "an iterable of mappings with 'url'")
        raise TypeError(f"The rows are a table ({_kind(rows)}), which iterates over its columns. Pass {remedy}.")


def fetch(
    rows: Iterable[Row], *, command: str | None = None, restarts: int = RESTARTS, window: int = WINDOW,
    **options: Option,
) -> Iterator[Result]:
    """Yields a result for each row from one process of the command, as fetches finish.

    ```python
    for row in inflight.fetch(["https://example.org/cat.jpg"], size="256x256", format="jpeg"):
        print(row.url, row.status, row.width, row.error)
    ```

    Parameters are those of `Client`; rows and results are those of `Client.fetch`.
    """
    _check_rows(rows)
    client = Client(command=command, restarts=restarts, window=window, **options)

    def results() -> Iterator[Result]:
        with client:
            yield from client.fetch(rows)

    return results()
