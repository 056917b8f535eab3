"""The manifest of a dataset: the only truth about which files belong to it.

    DIR/manifest.json                                           published last, at once, by one job only
    DIR/shards-RUN/part-00007-attempt-3/00000.tar …             the files that it names
    DIR/_staging/RUN/part-00007-attempt-3/ …                    what the attempts of a running job have written
"""

import contextlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from inflight.command import Option
from inflight.errors import DatasetError

VERSION = 1
NAME = "manifest.json"
STAGING = "_staging"


@dataclass(frozen=True)
class DataFile:
    """A file of a dataset: its path below the dataset's folder, and its size in bytes."""

    path: str
    size: int


@dataclass(frozen=True)
class Part:
    """The output of the attempt that fetched a partition. `folder` is empty if the partition has no rows."""

    partition: int
    folder: str = ""
    files: list[DataFile] = field(default_factory=list)
    successes: int = 0
    failed_to_download: int = 0
    failed_to_resize: int = 0
    rejected: int = 0

    @property
    def rows(self) -> int:
        return self.successes + self.failed_to_download + self.failed_to_resize + self.rejected


@dataclass(frozen=True)
class Manifest:
    """A published dataset: its files and the number of its rows by outcome."""

    folder: str
    job: str
    layout: str
    options: Mapping[str, Any]
    files: list[DataFile]
    rows: int
    successes: int
    failed_to_download: int
    failed_to_resize: int
    rejected: int

    @property
    def shards(self) -> list[str]:
        """The paths of the archives, or of the Parquet files, in the order of their names."""
        suffix = ".parquet" if self.layout == "parquet" else ".tar"
        return [os.path.join(self.folder, file.path) for file in self.files if file.path.endswith(suffix)]

    def verify(self) -> None:
        """Raises `DatasetError` unless every file exists with its size."""
        _verify(Path(self.folder), self.files)


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Returns the manifest of a dataset. Raises `DatasetError` if there is none, or if it cannot be read."""
    _check_is_path(folder)
    path = Path(folder) / NAME
    try:
        values = json.loads(path.read_bytes())
        if values["version"] != VERSION:
            raise DatasetError(f"'{path}' has version {values['version']}, but this package reads version {VERSION}.")
        files = [DataFile(file["path"], file["size"]) for file in values.pop("files")]
        return Manifest(folder=str(folder), files=files, **{name: values[name] for name in _MEMBERS})
    except FileNotFoundError:
        raise DatasetError(f"'{folder}' has no manifest: no job has published a dataset there.") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"The manifest '{path}' cannot be read: {error!r}") from error


_MEMBERS = ("job", "layout", "options", "rows", "successes", "failed_to_download", "failed_to_resize", "rejected")


@dataclass(frozen=True)
class Job:
    """One run that writes a dataset, as its driver and all its tasks know it."""

    folder: str
    name: str
    run: str
    layout: str
    options: dict[str, Option]
    url: str
    id: str | None
    caption: str | None
    command: str | None
    scratch: str | None

    @property
    def staging(self) -> Path:
        return Path(self.folder) / STAGING / self.run

    @classmethod
    def start(cls, folder: str | os.PathLike[str], name: str | None, layout: str, **values: Any) -> Self | Manifest:
        """Creates the folder of a job.

        If a job of this name has published its dataset there, its manifest is returned: a restarted driver has nothing
        to do. Folders with other contents are refused.
        """
        if layout not in ("webdataset", "parquet"):
            raise ValueError(f"Unsupported layout '{layout}'. Supported: webdataset, parquet.")
        _check_is_path(folder)
        path = Path(folder).absolute()
        run = f"{name or 'job'}-{uuid.uuid4().hex[:12]}"
        if not run.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"Unsupported job name '{name}'. Use letters, digits, hyphens and underscores.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            entries = {entry.name for entry in path.iterdir()}
        except OSError as error:
            raise DatasetError(f"The output folder '{path}' cannot be used: {error.strerror}.") from error
        if NAME in entries:
            manifest = read_manifest(path)
            if name and manifest.job == name:
                return manifest
            raise DatasetError(f"'{path}' already has the dataset of job '{manifest.job}'. Use another folder.")
        if any(not _belongs(entry, path, name) for entry in entries):
            raise DatasetError(f"The output folder '{path}' is not empty. Use another folder.")
        job = cls(folder=str(path), name=name or run, run=run, layout=layout, **values)
        job.staging.mkdir(parents=True)
        return job

    def commit(self, parts: Iterable[Part]) -> Manifest:
        """Publishes the parts as the dataset, and removes the other files of jobs from the folder.

        Only one job can win. If another one of the same name has, its manifest is returned.
        """
        root, published = Path(self.folder), f"shards-{self.run}"
        kept = sorted((part for part in parts if part.folder), key=lambda part: part.partition)
        if len({part.partition for part in kept}) != len(kept):
            raise DatasetError("Two attempts of one partition were committed.")
        _verify(self.staging, [file for part in kept for file in part.files])
        # Attempts that lost, or still run, must not be renamed along with the others.
        remove_all(self.staging, except_for={part.folder for part in kept})
        files = [DataFile(f"{published}/{file.path}", file.size) for part in kept for file in part.files]
        totals = {name: sum(getattr(part, name) for part in kept) for name in _MEMBERS[3:]}
        options = {name: value for name, value in self.options.items() if value is not None}
        manifest = Manifest(self.folder, self.name, self.layout, options, files=files, **totals)
        try:
            self.staging.rename(root / published)
            _sync(root)
            _publish(root / NAME, {"version": VERSION} | {k: v for k, v in asdict(manifest).items() if k != "folder"})
        except FileExistsError:
            shutil.rmtree(root / published, ignore_errors=True)
            winner = read_manifest(root)
            if winner.job != self.name:
                raise DatasetError(f"Another job, '{winner.job}', has published its dataset in '{root}'.") from None
            return winner
        except OSError as error:
            raise DatasetError(f"The dataset cannot be published in '{root}': {error}") from error
        remove_all(root, except_for={NAME, published}, only=_is_ours)
        return manifest

    def abort(self) -> None:
        """Removes what the attempts of this run have written."""
        shutil.rmtree(self.staging, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.staging.parent.rmdir()
            Path(self.folder).rmdir()


def _check_is_path(folder: str | os.PathLike[str]) -> None:
    # A path would take it as the name of a local folder.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", str(folder)):
        raise DatasetError(
            f"'{folder}' is a URL, which is not supported. Give the path of a folder that all machines share, for "
            "example of a mounted bucket.")


def _belongs(entry: str, folder: Path, name: str | None) -> bool:
    """Whether earlier runs of the job of this name may have left this entry."""
    if name is None:
        return False
    if entry == STAGING:
        return all(run.name.rpartition("-")[0] == name for run in (folder / STAGING).iterdir())
    return entry.rpartition("-")[0] == f"shards-{name}" or entry.startswith(f".{NAME}.")


def _verify(root: Path, files: Iterable[DataFile]) -> None:
    for file in files:
        try:
            size = (root / file.path).stat().st_size
        except OSError as error:
            raise DatasetError(f"The dataset's file '{root / file.path}' is lost: {error.strerror}.") from error
        if size != file.size:
            raise DatasetError(f"The dataset's file '{root / file.path}' has {size} instead of {file.size} bytes.")


def _is_ours(entry: str) -> bool:
    return entry == STAGING or entry.startswith(("shards-", f".{NAME}."))


def remove_all(folder: Path, except_for: set[str], only: Callable[[str], bool] = lambda _: True) -> None:
    for entry in folder.iterdir():
        if entry.name in except_for or not only(entry.name):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _publish(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a file that appears whole. Raises `FileExistsError` if it exists."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("x", encoding="utf-8") as stream:
            json.dump(values, stream, indent=1)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        # Unlike a rename, a link never replaces the file of another job.
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
