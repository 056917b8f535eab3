"""The errors of this package."""


class InflightError(Exception):
    """An error with a message that states what happened and what to do."""


class CommandNotFound(InflightError):
    """This machine has no command `inflight`."""


class CommandFailed(InflightError):
    """The command ended with an error.

    `status` is its exit status, negative for a signal. `stderr` is the end of its standard error.
    """

    def __init__(self, what: str, status: int, stderr: str) -> None:
        super().__init__(what, status, stderr)
        self.what, self.status, self.stderr = what, status, stderr

    def __str__(self) -> str:
        ending = f"was killed by signal {-self.status}" if self.status < 0 else f"ended with status {self.status}"
        return f"{self.what} {ending}" + (f":\n{self.stderr}" if self.stderr else ", without a message.")


class ProtocolError(InflightError):
    """The command does not speak the version of the stream protocol that this package needs."""


class ColumnError(InflightError):
    """A column is missing, has the wrong type, or has a name that the output needs."""


class InputError(InflightError):
    """A list of rows is missing or malformed, or cannot be read."""


class DatasetError(InflightError):
    """A dataset is missing, damaged or incomplete, or its folder cannot be used."""


class ListError(InflightError):
    """A list of URLs is damaged, encrypted or empty, or cannot be opened."""

    def __init__(self, message: str, cannot_open: bool = False) -> None:
        super().__init__(message)
        self.cannot_open = cannot_open
