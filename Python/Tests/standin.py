#!/usr/bin/env python3
"""Speaks the protocol of `inflight batch --stream` as the variable STANDIN says. An image is the URL.

    STANDIN            what to do, as JSON: see `Behavior`
    STANDIN_LOG        a file to which each start appends the arguments
"""

import json
import os
import sys


class Behavior:
    hello = '{"protocol":2,"version":"0.1.0"}'
    dies_at_start = None  # a status
    dies_at = []  # URLs that kill it
    dies_after = None  # a number of rows per process
    status = 3  # with which it dies
    reverses = 1  # answers so many rows at once, the last one first
    image_bytes = 0  # the size of an image
    says = None  # a line in place of every answer
    repeats = False  # answers twice

    def __init__(self, values):
        self.__dict__.update(values)


def answer(line, number, behavior):
    row = json.loads(line)
    if row["url"] is None:
        return _line({"id": None, "line": number, "status": "rejected", "error_message": "No URL."})
    image = row["url"].encode().ljust(behavior.image_bytes, b".")
    return _line({
        "id": row["id"], "line": number, "status": "success", "error_class": None, "error_message": None,
        "is_transient": False, "width": 4, "height": 3, "original_width": 8, "original_height": 6, "exif": "{}",
        "sha256": "00" * 32, "format": "jpeg", "size": len(image), "data": None, "file": None,
    }) + image


def _line(answer):
    return json.dumps(answer).encode() + b"\n"


def main():
    behavior = Behavior(json.loads(os.environ.get("STANDIN", "{}")))
    if log := os.environ.get("STANDIN_LOG"):
        with open(log, "a") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    if behavior.dies_at_start is not None:
        print("error: cannot start here", file=sys.stderr)
        sys.exit(behavior.dies_at_start)
    print(behavior.hello, flush=True)
    held = []
    for number, line in enumerate(sys.stdin, start=1):
        is_last = behavior.dies_after is not None and number > behavior.dies_after
        if is_last or json.loads(line)["url"] in behavior.dies_at:
            print("error: killed by a row", file=sys.stderr)
            sys.exit(behavior.status)
        held.append(f"{behavior.says}\n".encode() if behavior.says else answer(line, number, behavior))
        if len(held) == behavior.reverses:
            sys.stdout.buffer.write(b"".join(reversed(held * (1 + behavior.repeats))))
            sys.stdout.buffer.flush()
            held = []


main()
