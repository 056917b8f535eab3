"""The program of `--then` that asks the process above the command to upload a file.

    python -IS handover.py SCRATCH FILE

That process has the connections and the credentials, and starting another client for each file would take a second.
"""

import os
import socket
import sys

SOCKET, TAKEN = "socket", b"taken"


def address(folder: int) -> str:
    """The path of the socket in a folder that is open. Paths of sockets have at most 107 bytes."""
    return f"/proc/self/fd/{folder}/{SOCKET}"


def main(scratch: str, file: str) -> int:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address(os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)))
            connection.sendall(os.fsencode(file))
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
    except OSError as error:
        answer = f"'{file}' cannot be uploaded: {error.strerror}.".encode()
    if answer != TAKEN:
        print("inflight:", answer.decode() or f"The upload of '{file}' was interrupted.", file=sys.stderr)
    return 0 if answer == TAKEN else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
