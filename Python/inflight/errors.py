"""The errors of this package."""


class InflightError(Exception):
    """An error with a message that states what happened and what to do."""

    # Exceptions with several arguments cannot be pickled otherwise, and engines send errors between machines.
    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (type(self), self.args, self.__dict__))


def _restored(kind: type[InflightError], args: tuple[object, ...], state: dict[str, object]) -> InflightError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class CommandNotFound(InflightError):
    """This machine has no command `inflight`."""


class CommandFailed(InflightError):
    """The command ended with an error.

    `status` is its exit status, negative for a signal. `stderr` is the end of its standard error.
    """

    def __init__(self, what: str, status: int, stderr: str) -> None:
        ending = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{what} {ending}" + (f":\n{stderr}" if stderr else ", without a message on standard error."))
        self.status = status
        self.stderr = stderr


class ProtocolError(InflightError):
    """The command does not speak the version of the stream protocol that this package needs."""


class ColumnError(InflightError):
    """A column is missing, has the wrong type, or has a name that the output needs."""


class DatasetError(InflightError):
    """A dataset is missing, damaged or incomplete, or its folder cannot be used."""
