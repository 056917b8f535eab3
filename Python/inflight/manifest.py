"""The manifest of a dataset: the only truth about which files belong to it.

    DIR/manifest.json                                           published last, at once, by one job only
    DIR/shards-RUN/part-00007-attempt-3/00000.tar …             the files that it names
    DIR/_staging/RUN/part-00007-attempt-3/ …                    what the attempts of a running job have written

    s3://BUCKET/DIR/manifest-000001.json                        as above
    s3://BUCKET/DIR/shards-RUN/part-00007-attempt-3/00000.tar … the files that it names, and those of running jobs
"""

import json
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from inflight.command import Option
from inflight.errors import DatasetError
from inflight.stores import DataFile, Place, StorageOptions, place, run_of

VERSION = 1


@dataclass(frozen=True)
class Part:
    """The output of the attempt that fetched a partition. `folder` is empty if the partition has no rows.

    In an update, the files of a part may replace those of the dataset that `replaces` names.
    """

    partition: int
    folder: str = ""
    files: list[DataFile] = field(default_factory=list)
    successes: int = 0
    failed_to_download: int = 0
    failed_to_resize: int = 0
    rejected: int = 0
    replaces: list[str] = field(default_factory=list)

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
    run: str = ""
    """The run of the job that has published it."""
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """The names of the input's columns with the URL, the id and the caption."""

    @property
    def shards(self) -> list[str]:
        """The paths or URLs of the archives, or of the Parquet files, in the order of their names."""
        suffix = ".parquet" if self.layout == "parquet" else ".tar"
        return [os.path.join(self.folder, file.path) for file in self.files if file.path.endswith(suffix)]

    def verify(self, storage_options: StorageOptions | None = None) -> None:
        """Raises `DatasetError` unless every file exists with its size."""
        place(self.folder, storage_options, unsafe_single_driver=True).verify(self.files)


def read_manifest(folder: str | os.PathLike[str], storage_options: StorageOptions | None = None) -> Manifest:
    """Returns the newest manifest of a dataset. Raises `DatasetError` if there is none, or if it cannot be read.

    `folder` is a path or a URL, and `storage_options` are those of fsspec's file system for it.
    """
    return _read(place(folder, storage_options, unsafe_single_driver=True), str(folder))[1]


def _read(target: Place, folder: str) -> tuple[int, Manifest]:
    """Returns the newest manifest and its number."""
    number = _newest(target, target.names("manifest"))
    if number == 0:
        raise DatasetError(f"'{folder}' has no manifest: no job has published a dataset there.")
    return number, _parsed(target, number, target.read(_name(target, number)), folder)


def vacuum(
    folder: str | os.PathLike[str], *, older_than: timedelta, storage_options: StorageOptions | None = None,
    unsafe_single_driver: bool = False,
) -> list[str]:
    """Removes files that a dataset does not need, and returns their paths below its folder.

    These are files of runs that have published nothing and written nothing for `older_than`, and files that a newer
    manifest has omitted for so long. A run that is silent for longer while it publishes, and readers that use an
    older manifest for longer, lose files: choose days. Manifests stay. The time is that of the store.
    """
    target = place(folder, storage_options, unsafe_single_driver)
    number, newest = _read(target, str(folder))
    run = _run("vacuum")
    target.start(run)
    try:
        modified = target.modified()
        latest: dict[str, datetime] = {}
        for path, time in modified.items():
            latest[run_of(path)] = max(time, latest.get(run_of(path), time))
        # The time from which on a file was not needed.
        unneeded = {path: latest[run_of(path)] for path in modified if run_of(path)}
        later = {file.path for file in newest.files}
        for past in range(number - 1, 0, -1):
            since = modified[_name(target, past + 1)]
            named = {file.path for file in _parsed(target, past, target.read(_name(target, past)), str(folder)).files}
            unneeded |= dict.fromkeys(named - later, since)
            later |= named
        for file in newest.files:
            unneeded.pop(file.path, None)
        limit = latest[run] - older_than
        removed = sorted(path for path, time in unneeded.items()
                         if time <= limit and path in modified and run_of(path) != run)
        target.delete(removed)
        return removed
    finally:
        target.abandon(run)


def _name(target: Place, number: int) -> str:
    return target.first_manifest if number == 1 else f"manifest-{number:06}.json"


def _newest(target: Place, names: set[str]) -> int:
    """Returns the number of the newest manifest among these names, 0 if there is none."""
    numbers = [int(found[1]) for name in names if (found := re.fullmatch(r"manifest-(\d{6,})\.json", name))]
    return max([*numbers, int(target.first_manifest in names)])


def _parsed(target: Place, number: int, content: bytes, folder: str) -> Manifest:
    name = f"{target}/{_name(target, number)}"
    try:
        values = json.loads(content)
        if values["version"] != VERSION:
            raise DatasetError(f"'{name}' has version {values['version']}, but this package reads version {VERSION}.")
        files = [DataFile(file["path"], file["size"]) for file in values.pop("files")]
        for file in files:
            if not set(file.path.split("/")).isdisjoint(("", ".", "..")):
                raise ValueError(f"'{file.path}' is not below the dataset's folder")
        members = {name: values[name] for name in _MEMBERS}
        added = {name: values[name] for name in ("run", "columns") if name in values}
        return Manifest(folder=folder, files=files, **members, **added)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"The manifest '{name}' cannot be read: {error!r}") from error


def _run(name: str | None) -> str:
    run = f"{name or 'job'}-{uuid.uuid4().hex[:12]}"
    if not run.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"Unsupported job name '{name}'. Use letters, digits, hyphens and underscores.")
    return run


_MEMBERS = ("job", "layout", "options", "rows", "successes", "failed_to_download", "failed_to_resize", "rejected")
_SECRET_OPTIONS = {"header"}


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
    storage_options: dict[str, Any] | None = field(default=None, repr=False)
    unsafe_single_driver: bool = False
    number: int = 1
    """The number of the manifest that it publishes."""

    @property
    def place(self) -> Place:
        return place(self.folder, self.storage_options, self.unsafe_single_driver)

    @classmethod
    def start(
        cls, folder: str | os.PathLike[str], name: str | None, layout: str,
        storage_options: StorageOptions | None = None, unsafe_single_driver: bool = False, **values: Any,
    ) -> Self | Manifest:
        """Prepares the folder of a job, and checks that it can publish there.

        If a job of this name has published its dataset there, its manifest is returned: a restarted driver has nothing
        to do. Folders with other contents are refused.
        """
        if layout not in ("webdataset", "parquet"):
            raise ValueError(f"Unsupported layout '{layout}'. Supported: webdataset, parquet.")
        run = _run(name)
        found = place(folder, storage_options, unsafe_single_driver)
        entries = found.names()
        if number := _newest(found, entries):
            manifest = _parsed(found, number, found.read(_name(found, number)), str(found))
            if name and manifest.job == name:
                return manifest
            raise DatasetError(f"'{found}' already has the dataset of job '{manifest.job}'. Use another folder.")
        if any(name is None or not found.is_of_job(entry, name) for entry in entries):
            raise DatasetError(f"The output folder '{found}' is not empty. Use another folder.")
        found.start(run)
        options = None if storage_options is None else dict(storage_options)
        return cls(folder=str(found), name=name or run, run=run, layout=layout, storage_options=options,
                   unsafe_single_driver=unsafe_single_driver, **values)

    @classmethod
    def update(
        cls, folder: str | os.PathLike[str], name: str | None, storage_options: StorageOptions | None = None,
        unsafe_single_driver: bool = False, options: Mapping[str, Option] | None = None, **values: Any,
    ) -> tuple[Self | None, Manifest]:
        """Prepares a run that publishes the next manifest of a dataset, with its options. Returns it with the newest.

        If a job of this name has published the newest manifest, there is no run: a restarted driver has nothing to do.
        """
        run = _run(name)
        found = place(folder, storage_options, unsafe_single_driver)
        number, base = _read(found, str(found))
        if name and base.job == name:
            return None, base
        if not base.columns:
            raise DatasetError(f"'{found}' was written by a version of this package that did not support updates.")
        found.start(run)
        settings = None if storage_options is None else dict(storage_options)
        columns: dict[str, Any] = dict(base.columns)
        return cls(folder=str(found), name=name or run, run=run, layout=base.layout, storage_options=settings,
                   unsafe_single_driver=unsafe_single_driver, number=number + 1,
                   options={**base.options, **(options or {})}, **columns, **values), base

    def commit(self, parts: Iterable[Part]) -> Manifest:
        """Publishes the parts as the dataset, and removes the other files of jobs from the folder.

        Only one job can win. If another one of the same name has, its manifest is returned. An update adds the parts to
        the dataset, and publishes nothing if there are none.
        """
        kept = sorted((part for part in parts if part.folder), key=lambda part: part.partition)
        if len({part.partition for part in kept}) != len(kept):
            raise DatasetError("Two attempts of one partition were committed.")
        target = self.place
        base = None
        if self.number > 1:
            base = _parsed(target, self.number - 1, target.read(_name(target, self.number - 1)), self.folder)
            if not kept:
                self.abort()
                return base
        target.seal(self.run, [file for part in kept for file in part.files])
        replaced = {path for part in kept for path in part.replaces}
        files = [file for file in (base.files if base else []) if file.path not in replaced]
        files += [DataFile(f"shards-{self.run}/{file.path}", file.size) for part in kept for file in part.files]
        counted = [*kept, base] if base else kept
        totals = {name: sum(getattr(part, name) for part in counted) for name in _MEMBERS[3:]}
        options = {name: value for name, value in self.options.items()
                   if value is not None and name not in _SECRET_OPTIONS}
        columns = {"url": self.url, "id": self.id, "caption": self.caption}
        manifest = Manifest(
            self.folder, self.name, self.layout, options, files=files, run=self.run, columns=columns, **totals)
        values = {"version": VERSION} | {name: value for name, value in asdict(manifest).items() if name != "folder"}
        content = target.create(_name(target, self.number), json.dumps(values, indent=1).encode() + b"\n")
        winner = _parsed(target, self.number, content, self.folder)
        if winner.run != self.run:
            target.remove(self.run)
            if winner.job != self.name:
                raise DatasetError(f"Another job, '{winner.job}', has published its dataset in '{target}'.")
            return winner
        target.sweep(self.run, files)
        return manifest

    def abort(self) -> None:
        """Removes what the attempts of this run have written, unless it may have been published."""
        self.place.abandon(self.run)
