"""`python -m inflight`: the command, with what it leaves to this package: see `batch`."""

import os
import sys

from inflight import batch
from inflight import command as commands
from inflight.errors import InflightError


def main(arguments: list[str]) -> int:
    try:
        path = commands.find()
    except InflightError as error:
        return batch.fail(batch.UNAVAILABLE, str(error))
    if arguments[:1] == ["batch"]:
        return batch.main(path, arguments[1:])
    os.execv(path, [path, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
