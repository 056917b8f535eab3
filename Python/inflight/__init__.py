"""Bulk image downloads by the command `inflight`: on one machine, on Spark and on Ray."""

from inflight.errors import (
    ColumnError, CommandFailed, CommandNotFound, DatasetError, InflightError, InputError, ProtocolError)
from inflight.inputs import read_rows
from inflight.manifest import Manifest, read_manifest, vacuum
from inflight.stores import DataFile
from inflight.stream import Client, Result, fetch

__all__ = [
    "Client", "ColumnError", "CommandFailed", "CommandNotFound", "DataFile", "DatasetError", "InflightError",
    "InputError", "Manifest", "ProtocolError", "Result", "fetch", "read_manifest", "read_rows", "vacuum",
]
