"""`python -m inflight batch -o s3://…`: runs whose shards are in an object store.

    SCRATCH/store.json        the URL of the output, and the name of the run
    SCRATCH/run               the folder of the command: the journal, and the shards that were not uploaded yet
    SCRATCH/uploads.jsonl     what was uploaded, a line for each time
    SCRATCH/upload, socket    the program of `--then`, and how it reaches this process: see `handover`

    s3://BUCKET/DIR/00000.tar, 00000.jsonl.zst, 00000_stats.json …   the shards
    s3://BUCKET/DIR/_run.json                                        the run that owns the prefix, created at its start
    s3://BUCKET/DIR/_files.jsonl, rejects.jsonl                      written at the end: size and SHA-256 of each file

An object appears whole. The command records that a shard was uploaded after its three files were, so that after a kill
each file is uploaded at least once, and each time with the same content.
"""

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import socket
import socketserver
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from inflight import handover
from inflight.errors import DatasetError
from inflight.stores import ObjectStore, place

OWNER, FILES, REJECTS = "_run.json", "_files.jsonl", "rejects.jsonl"
SUFFIXES = (".tar", ".jsonl.zst", "_stats.json")
"""What the names of a shard's files add to its own."""


@dataclass(frozen=True)
class Upload:
    """A file as it was uploaded."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Scratch:
    """The local folder of a run. Without it, nothing is known of the rows that are in no shard yet."""

    store: ObjectStore
    folder: Path
    run: str

    @classmethod
    def opened(cls, store: ObjectStore, folder: Path) -> Self | None:
        """Returns the folder of the run with this output, `None` if it is not here."""
        try:
            values = json.loads((folder / "store.json").read_bytes())
            return cls(store, folder.absolute(), values["run"]) if values["url"] == str(store) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"'{folder}/store.json' cannot be read: {error}") from None

    @classmethod
    def started(cls, store: ObjectStore, folder: Path) -> Self:
        """Creates the folder for a run, or opens it again. Checks that the run may write to the store."""
        found = cls.opened(store, folder)
        if found:
            found._own()
        else:
            found = cls(store, folder.absolute(), uuid.uuid4().hex)
            found._create()
            try:
                found._own()
            except DatasetError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        store.abort_uploads()
        return found

    @property
    def output(self) -> str:
        return str(self.folder / "run")

    @property
    def program(self) -> str:
        return str(self.folder / "upload")

    def _create(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
            if entries := os.listdir(self.folder):
                of = "belongs to the run of another output" if "store.json" in entries else "is not empty"
                raise DatasetError(f"The scratch folder '{self.folder}' {of}. Give another one with --scratch DIR.")
            _write(self.folder / "store.json", json.dumps({"url": str(self.store), "run": self.run}) + "\n")
        except OSError as error:
            raise DatasetError(f"The scratch folder '{self.folder}' cannot be used: {error.strerror}.") from None

    def _own(self) -> None:
        names = self.store.names()
        if OWNER not in names:
            if os.path.exists(self.output):
                raise DatasetError(f"'{self.store}' has lost '{OWNER}', so the run in '{self.folder}' cannot go on.")
            if names:
                raise DatasetError(f"The output '{self.store}' is not empty. Use another prefix.")
            owner = {"run": self.run, "scratch": f"{socket.gethostname()}:{self.folder}"}
            self.store.claim(OWNER, json.dumps(owner).encode() + b"\n")
        self.check_owner()

    def check_owner(self) -> None:
        run, scratch = owner(self.store)
        if run != self.run:
            raise DatasetError(
                f"'{self.store}' belongs to another run, whose scratch folder is '{scratch}'. To resume that run, "
                "give this folder with --scratch DIR. If it is lost, use another prefix, or remove the output first.")

    def discard_unused(self) -> None:
        """Removes what a run has created if the command has refused its arguments."""
        if not os.path.exists(self.output):
            self.check_owner()
            self.store.delete([OWNER])
            shutil.rmtree(self.folder, ignore_errors=True)

    def upload(self, path: Path) -> None:
        """Uploads a file of the command, and records it."""
        self.check_owner()
        try:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                found = Upload(path.name, os.fstat(file.fileno()).st_size, sha256)
            self.store.put(path, path.name)
            with (self.folder / "uploads.jsonl").open("ab") as record:
                record.write(json.dumps(found.__dict__).encode() + b"\n")
                record.flush()
                os.fsync(record.fileno())
        except OSError as error:
            raise DatasetError(f"'{path}' cannot be uploaded: {error.strerror}.") from None

    def uploads(self) -> dict[str, Upload]:
        """What is in the store, by name, if nothing was lost there."""
        try:
            return records((self.folder / "uploads.jsonl").read_bytes())
        except FileNotFoundError:
            return {}

    def finish(self) -> None:
        """Uploads the list of all files, for those who do not have this folder."""
        self.check_owner()
        lines = "".join(json.dumps(file.__dict__) + "\n" for _, file in sorted(self.uploads().items()))
        _write(self.folder / FILES, lines)
        self.store.put(self.folder / FILES, FILES)
        rejects = Path(self.output, REJECTS)
        if rejects.exists() and (rejects.stat().st_size or REJECTS in self.store.names(REJECTS)):
            self.store.put(rejects, REJECTS)

    def restore(self, classes: set[str]) -> None:
        """Downloads the shards that have failures of these classes, unless they are here."""
        for shard, outcomes in statistics(self.store):
            if classes.isdisjoint(outcomes):
                continue
            for suffix in SUFFIXES:
                local = Path(self.output, shard + suffix)
                if not local.exists():
                    self.store.get(local.name, local)

    @contextlib.contextmanager
    def uploading(self) -> "Iterator[Uploads]":
        """Serves the program of `--then`."""
        client = [sys.executable, "-IS", handover.__file__, str(self.folder)]
        _write(Path(self.program), f'#!/bin/sh\nexec {shlex.join(client)} "$1"\n', mode=0o700)
        (self.folder / handover.SOCKET).unlink(missing_ok=True)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with Uploads(self, handover.address(folder)) as server:
                threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
                yield server
                server.shutdown()
        finally:
            os.close(folder)
            (self.folder / handover.SOCKET).unlink(missing_ok=True)


class Uploads(socketserver.ThreadingUnixStreamServer):
    """Uploads the files that `handover` names, each connection one."""

    daemon_threads = True
    refusal: str | None = None
    """Why the store will take no file. The run then need not wait for further attempts."""

    def __init__(self, scratch: Scratch, address: str) -> None:
        self.scratch = scratch
        self.on_refusal: Callable[[], None] = lambda: None
        super().__init__(address, _Request)


class _Request(socketserver.StreamRequestHandler):
    server: Uploads

    def handle(self) -> None:
        path = Path(os.fsdecode(self.rfile.read()))
        answer = handover.TAKEN
        try:
            self.server.scratch.upload(path)
        except DatasetError as error:
            answer = str(error).encode()
            if isinstance(error.__context__, PermissionError):
                self.server.refusal = str(error)
                self.server.on_refusal()
        with contextlib.suppress(OSError):  # the command has ended its program
            self.wfile.write(answer)


def scratch_folder(store: ObjectStore, given: str | None) -> Path:
    """The scratch folder of an output, by default in the folder of work, with the name of the output."""
    return Path(given or str(store).rpartition("/")[2] + ".inflight")


def object_store(url: str) -> ObjectStore:
    found = place(url, None)
    assert isinstance(found, ObjectStore)
    return found


def owner(store: ObjectStore) -> tuple[str, str]:
    """The run to which a prefix belongs, and where its scratch folder is."""
    content = store.read(OWNER)
    try:
        values = json.loads(content)
        return values["run"], values["scratch"]
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"'{store}/{OWNER}' is damaged.") from None


def records(content: bytes) -> dict[str, Upload]:
    """The last record of each name. A power cut may have torn the last line."""
    found = {}
    for line in content.splitlines():
        with contextlib.suppress(ValueError, TypeError):
            upload = Upload(**json.loads(line))
            found[upload.name] = upload
    return found


def statistics(store: ObjectStore) -> Iterator[tuple[str, Counter[str]]]:
    """The shards in the store, with the numbers of their rows by outcome."""
    for name in sorted(store.names()):
        if name.endswith("_stats.json"):
            try:
                yield name.removesuffix("_stats.json"), Counter(json.loads(store.read(name))["status_dict"])
            except (ValueError, KeyError, TypeError):
                raise DatasetError(f"'{store}/{name}' is damaged.") from None


def problems(store: ObjectStore, expected: Iterable[Upload]) -> Iterator[str]:
    """Compares the store with what was uploaded. Reads all files."""
    sizes = store.sizes()
    for upload in expected:
        name = f"{store}/{upload.name}"
        size = sizes.pop(upload.name, None)
        if size is None:
            yield f"{name}: It is lost."
        elif size != upload.size:
            yield f"{name}: It has {size} instead of {upload.size} bytes."
        elif store.digest(upload.name) != upload.sha256:
            yield f"{name}: Its content is not what was uploaded."
    for name in sorted(sizes.keys() - {OWNER, FILES, REJECTS}):
        yield f"{store}/{name}: It does not belong to the output, or its upload was interrupted."


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(mode)
    temporary.rename(path)
