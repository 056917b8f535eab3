"""A shard as a TFRecord file: a `tf.train.Example` for each image."""

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inflight.shards import image_suffix, samples

_MAXIMUM_FLOAT = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def write(archive: Path, is_raw: bool, target: Path) -> None:
    """Writes the samples of an archive into a TFRecord file.

    The features of a sample are `key`, the image, the caption as `txt`, and the columns. The image is named by its
    extension; if images have several formats, it is `image`, with the extension as `format`. Text is a list of one byte
    string, numbers are lists of 64-bit integers or floats, and lists of text or numbers stay lists; other values are
    JSON. A column that is null is left out.
    """
    with target.open("wb") as file:
        for record in _records(archive, is_raw):
            file.write(record)
        file.flush()
        os.fsync(file.fileno())


def difference(archive: Path, is_raw: bool, target: Path) -> str | None:
    """Compares a TFRecord file with what `write` would write. Returns how it differs."""
    try:
        with target.open("rb") as file:
            for number, record in enumerate(_records(archive, is_raw), start=1):
                if file.read(len(record)) != record:
                    return f"Its record {number} differs from the sample of the shard."
            return "It has more records than the shard has samples." if file.read(1) else None
    except OSError as error:
        return f"It cannot be read: {error.strerror}."


def _records(archive: Path, is_raw: bool) -> Iterator[bytes]:
    for key, sample in samples(archive):
        suffix = image_suffix(sample)
        features = {"key": _feature(key), "image" if is_raw else suffix: _feature(sample[suffix])}
        if is_raw:
            features["format"] = _feature(suffix)
        if "txt" in sample:
            features["txt"] = _feature(sample["txt"])
        for name, value in json.loads(sample["json"]).items():
            if value is not None:
                features.setdefault(name, _feature(value))
        yield framed(_example(features))


def framed(data: bytes) -> bytes:
    """A record: its length and its bytes, each followed by a masked CRC-32C."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _masked(length), data, _masked(data)))


def _masked(data: bytes) -> bytes:
    sum = crc32c(data)
    return struct.pack("<I", ((sum >> 15 | sum << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# Protocol buffers: a field is its number and wire type, then its value. All fields here have wire type 2, bytes after
# their length.


def _example(features: Mapping[str, bytes]) -> bytes:
    """The message `tf.train.Example`: field 1 is `Features`, whose field 1 is a map of `Feature`."""
    entries = (_field(1, _field(1, name.encode()) + _field(2, value)) for name, value in features.items())
    return _field(1, b"".join(entries))


def _feature(value: Any) -> bytes:
    """The message `tf.train.Feature`: field 1 is a list of bytes, 2 of floats, 3 of integers."""
    values = value if isinstance(value, list) else [value]
    if all(isinstance(item, int) and -(1 << 63) <= item < 1 << 63 for item in values):
        return _field(3, _field(1, b"".join(_varint(item & 0xFFFFFFFFFFFFFFFF) for item in values)))
    if all(isinstance(item, float) or isinstance(item, int) and abs(item) < 1 << 53 for item in values) and all(
        abs(item) <= _MAXIMUM_FLOAT for item in values
    ):
        return _field(2, _field(1, struct.pack(f"<{len(values)}f", *values)))
    if not all(isinstance(item, str | bytes) for item in values):
        values = [json.dumps(value)]
    return _field(1, b"".join(_field(1, item.encode() if isinstance(item, str) else item) for item in values))


def _field(number: int, value: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def _table() -> Sequence[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


_TABLE = _table()


def _crc32c(data: bytes) -> int:
    sum = 0xFFFFFFFF
    for byte in data:
        sum = sum >> 8 ^ _TABLE[(sum ^ byte) & 255]
    return sum ^ 0xFFFFFFFF


try:
    import crc32c as package
except ImportError:
    package = None

crc32c: Callable[[bytes], int] = package.crc32c if package else _crc32c
"""CRC-32C (RFC 3720), by the package `crc32c` if it is installed: some hundred times as fast."""
