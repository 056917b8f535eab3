"""The command `inflight`: where it is, its options, and what it writes to standard error."""

import ctypes
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from inflight.errors import CommandNotFound

Option = str | int | float | bool | None | Sequence[str]
"""The value of an option of the command: `True` sets a flag, `None` and `False` omit it, a sequence repeats it."""


def find(command: str | None = None) -> str:
    """Returns the path of the command: `command`, else the variable `INFLIGHT`, else `inflight` on `PATH`."""
    wanted = command or os.environ.get("INFLIGHT") or "inflight"
    path = shutil.which(wanted)
    if path is None:
        raise CommandNotFound(
            f"The command '{wanted}' was not found on {socket.gethostname()}. Install Inflight there, or set the "
            "environment variable INFLIGHT to the path of the command."
        )
    return path


def arguments(options: Mapping[str, Option]) -> list[str]:
    """Returns the command's arguments for options in Python's spelling: `per_host=2` is `--per-host 2`."""
    result: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            result.append(flag)
        elif isinstance(value, str | int | float):
            result += [flag, str(value)]
        else:
            for item in value:
                result += [flag, str(item)]
    return result


_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def dies_with_parent() -> Callable[[], None]:
    """Returns a `preexec_fn` of `Popen`: the process is killed when the thread that starts it ends, even by SIGKILL.

    To the command, the end of its input would mean that there are no more rows. Not a signal that it handles: it would
    record the last row as complete, which the kill may have cut. A killed run resumes.
    """
    # Loaded before the fork, after which other threads' locks stay locked.
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has died before
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def write(stream: IO[bytes], data: bytes) -> bool:
    """Writes to a process without a buffer. Returns false if it does not read on: its status tells why."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[stream.write(rest) or 0 :]
    except BrokenPipeError:
        return False
    return True


class Tail:
    """Reads standard error of a process until its end, and keeps the last part."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), name="inflight-stderr", daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
                self._kept = (self._kept + chunk)[-8192:]

    def text(self) -> str:
        """The last part. Call it after the process has ended."""
        self._thread.join(timeout=5)  # a process that outlives the command may hold the pipe open
        return self._kept.decode(errors="replace").strip()
