"""Where datasets are: a folder that all machines share, or a prefix of an object store.

Both store the files of a run below `shards-RUN`, and create manifests that appear whole and are never replaced. A
folder collects the files in `_staging/RUN` and renames it. In an object store, which has no rename, they are uploaded
there; the object `shards-RUN/open` exists until the run publishes.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from inflight.errors import DatasetError

STAGING = "_staging"
OPEN = "open"

StorageOptions = Mapping[str, Any]
"""Credentials, endpoint and other settings of a store, as fsspec's file system takes them."""


@dataclass(frozen=True)
class DataFile:
    """A file of a dataset: its path below the dataset's folder, and its size in bytes."""

    path: str
    size: int


class Place(Protocol):
    """Where a dataset is. All methods raise `DatasetError`, with a message without credentials."""

    first_manifest: str
    """The name of a dataset's first manifest."""

    def names(self, prefix: str = "") -> set[str]:
        """Returns the names at the top of the dataset that begin with `prefix`."""

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""

    def create(self, name: str, data: bytes) -> bytes:
        """Writes a file that appears whole, unless it exists. Returns the content that it has then."""

    def verify(self, files: Iterable[DataFile]) -> None:
        """Raises `DatasetError` unless every file exists with its size."""

    def is_of_job(self, entry: str, job: str) -> bool:
        """Whether a run of this job may have left this entry."""

    def start(self, run: str) -> None:
        """Prepares the place of a run, and checks that datasets can be published here."""

    def check_is_open(self, run: str) -> None:
        """Raises `DatasetError` if the run was published or removed, or if this machine does not see it."""

    def staging(self, run: str) -> Path | None:
        """The folder in which tasks can write, if there is one."""

    def add(self, run: str, folder: Path, name: str) -> None:
        """Adds the file `folder/name` to a run. What it leaves when it fails has no effect."""

    def seal(self, run: str, files: Iterable[DataFile]) -> None:
        """Moves these files of a run, with paths below `staging`, to where readers find them, below `shards-RUN`.

        The run is no longer open: from now on, `abandon` removes nothing.
        """

    def remove(self, run: str) -> None:
        """Removes the files of a sealed run, which no manifest can name."""

    def sweep(self, run: str, files: Iterable[DataFile]) -> None:
        """Removes what a published run has left beside these files."""

    def abandon(self, run: str) -> None:
        """Removes the files of a run, if it is open."""

    def modified(self) -> dict[str, datetime]:
        """Returns the paths of all files of runs, and of all manifests, with the times of their last changes."""

    def delete(self, names: list[str]) -> None:
        """Removes files."""


def run_of(path: str) -> str:
    """Returns the run that has written a file, empty for a manifest."""
    parts = path.split("/")
    return parts[1] if parts[0] == STAGING else parts[0].removeprefix("shards-") if len(parts) > 1 else ""


def place(folder: str | os.PathLike[str], options: StorageOptions | None, unsafe_single_driver: bool = False) -> Place:
    """Returns the place of a dataset, given a path or a URL. Accesses nothing."""
    scheme = check_url(os.fspath(folder))
    if not scheme:
        return Folder(Path(folder).absolute())
    path = os.fspath(folder).partition("://")[2]
    if scheme == "file":
        if not path.startswith("/"):
            raise DatasetError("A URL of a folder has the form file:///path.")
        return Folder(Path(path))
    if "?" in path:
        raise DatasetError(f"The {scheme} URL has a query. Give credentials in storage_options.")
    return ObjectStore(scheme, path.rstrip("/"), options or {}, unsafe_single_driver)


def check_url(text: str) -> str:
    """Returns the scheme of a URL, empty for a path. Raises `DatasetError` for credentials, without repeating them."""
    url = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", text, re.S)
    if url and (re.match(r"[^/]*:[^/]*@", url[2]) or re.search(r"\?.*=", url[2])):
        raise DatasetError(f"The {url[1]} URL has a query or a password. Give credentials in storage_options.")
    return url[1].lower() if url else ""


class Folder:
    """A folder on a file system with hard links, which all machines share."""

    first_manifest = "manifest.json"

    def __init__(self, path: Path) -> None:
        self._root = path

    def __str__(self) -> str:
        return str(self._root)

    def names(self, prefix: str = "") -> set[str]:
        try:
            return {entry.name for entry in self._root.iterdir() if entry.name.startswith(prefix)}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise DatasetError(f"The folder '{self}' cannot be used: {error.strerror}.") from error

    def read(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except OSError as error:
            raise DatasetError(f"'{self._root / name}' cannot be read: {error.strerror}.") from error

    def create(self, name: str, data: bytes) -> bytes:
        path = self._root / name
        temporary = path.with_name(f".{name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            # Unlike a rename, a link never replaces the file of another job.
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
            temporary.unlink()
            _sync(self._root)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise DatasetError(f"'{path}' cannot be written: {error}") from error
        return self.read(name)

    def verify(self, files: Iterable[DataFile]) -> None:
        _verify(self._root, files)

    def is_of_job(self, entry: str, job: str) -> bool:
        if entry == STAGING:
            return all(run.name.rpartition("-")[0] == job for run in (self._root / STAGING).iterdir())
        return entry.rpartition("-")[0] == f"shards-{job}" or entry.startswith(".manifest")

    def start(self, run: str) -> None:
        try:
            self.staging(run).mkdir(parents=True)
        except OSError as error:
            raise DatasetError(f"The output folder '{self}' cannot be used: {error.strerror}.") from error

    def check_is_open(self, run: str) -> None:
        # Creating it again would hide that the files of other partitions are lost.
        if not self.staging(run).is_dir():
            raise DatasetError(f"The output folder has lost '{self.staging(run)}', or this machine does not see it.")

    def staging(self, run: str) -> Path:
        return self._root / STAGING / run

    def add(self, run: str, folder: Path, name: str) -> None:
        target = self.staging(run) / name
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / name, target)

    def seal(self, run: str, files: Iterable[DataFile]) -> None:
        files = list(files)
        _verify(self.staging(run), files)
        try:
            # Attempts that lost, or still run, must not be renamed along with the others.
            remove_all(self.staging(run), except_for={file.path.split("/")[0] for file in files})
            self.staging(run).rename(self._root / f"shards-{run}")
            _sync(self._root)
        except OSError as error:
            raise DatasetError(f"The dataset cannot be published in '{self}': {error}") from error

    def remove(self, run: str) -> None:
        shutil.rmtree(self._root / f"shards-{run}", ignore_errors=True)

    def sweep(self, run: str, files: Iterable[DataFile]) -> None:
        kept = {file.path.split("/")[0] for file in files} | {f"shards-{run}"}
        remove_all(
            self._root, kept, only=lambda name: name == STAGING or name.startswith(("shards-", ".manifest")))

    def abandon(self, run: str) -> None:
        shutil.rmtree(self.staging(run), ignore_errors=True)
        with contextlib.suppress(OSError):
            self.staging(run).parent.rmdir()
            self._root.rmdir()

    def modified(self) -> dict[str, datetime]:
        found: dict[str, datetime] = {}
        for pattern in ("manifest*.json", "shards-*/**/*", f"{STAGING}/*/**/*", f"{STAGING}/*"):
            for path in self._root.glob(pattern):
                with contextlib.suppress(FileNotFoundError):
                    found[path.relative_to(self._root).as_posix()] = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return found

    def delete(self, names: list[str]) -> None:
        # Folders after what is in them.
        for name in sorted(names, reverse=True):
            path = self._root / name
            try:
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise DatasetError(f"'{path}' cannot be removed: {error.strerror}.") from error


def _verify(root: Path, files: Iterable[DataFile]) -> None:
    for file in files:
        try:
            size = (root / file.path).stat().st_size
        except OSError as error:
            raise DatasetError(f"The dataset's file '{root / file.path}' is lost: {error.strerror}.") from error
        if size != file.size:
            raise DatasetError(f"The dataset's file '{root / file.path}' has {size} instead of {file.size} bytes.")


def remove_all(folder: Path, except_for: set[str], only: Callable[[str], bool] = lambda _: True) -> None:
    for entry in folder.iterdir():
        if entry.name in except_for or not only(entry.name):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class _Kind:
    """A kind of store: the package for it, and how that uploads files with checksums, in parts of 8 MiB."""

    package: str
    uploading: Mapping[str, Any] = field(default_factory=dict)


_PART_BYTES = 8 << 20
_KINDS = {
    # The client adds a checksum to each request.
    "s3": _Kind("s3fs", {"chunksize": _PART_BYTES}),
    "gs": _Kind("gcsfs", {"chunksize": _PART_BYTES, "consistency": "md5"}),
    "az": _Kind("adlfs", {"validate_content": True}),
    "hdfs": _Kind("pyarrow"),
}
_TRIES = 3


class ObjectStore:
    """The objects of a store with one prefix, through fsspec.

    An object is created by a conditional write, which fails if the object exists. With `unsafe_single_driver`, a check
    that it does not exist takes its place, which only one driver may do at a time.
    """

    first_manifest = "manifest-000001.json"

    def __init__(self, scheme: str, path: str, options: StorageOptions, unsafe_single_driver: bool) -> None:
        self._url, self._is_unsafe = f"{scheme}://{path}", unsafe_single_driver
        self._options: StorageOptions = options
        if scheme not in _KINDS:
            raise DatasetError(f"'{self}' has an unsupported scheme. Supported: s3, gs, az, file, and paths.")
        if scheme == "hdfs" and not unsafe_single_driver:
            raise DatasetError(
                f"'{self}' is refused: fsspec's Arrow file system cannot create a file exclusively, so two drivers "
                "could publish at once. If there is only one, pass unsafe_single_driver=True.")
        if not all(part not in ("", ".", "..") for part in path.split("/")) or re.search(r"[*?\[\]{}\\\0-\x1f]", path):
            raise DatasetError(
                f"'{self}' cannot name a dataset. Use {scheme}://BUCKET/PREFIX without '..', empty parts and patterns.")
        self._kind = _KINDS[scheme]
        with self._explained("opened"):
            try:
                import fsspec

                # Others change what a cache would have.
                self._options = {"configured": fsspec.config.conf, "given": options}
                fs, root = fsspec.core.url_to_fs(self._url, **{"use_listings_cache": False} | dict(options))
            except ImportError as error:
                extra = f"inflight-images[{self._kind.package}]"
                raise DatasetError(f"'{self}' needs {self._kind.package}: pip install '{extra}'") from error
        self._fs: Any = fs
        self._root: str = root.rstrip("/")

    def __str__(self) -> str:
        return self._url

    def names(self, prefix: str = "") -> set[str]:
        with self._explained("listed"):
            try:
                # With a prefix, only the objects that it matches are listed, not all that are at the top.
                paths = self._fs.find(self._root, prefix=prefix) if prefix else self._fs.ls(self._root, detail=False)
            except FileNotFoundError:
                return set()
        return {name.split("/")[0] for name in map(self._name, paths) if name}

    def read(self, name: str) -> bytes:
        with self._explained("read", name):
            data: bytes = self._fs.cat_file(self._path(name))
            return data

    def create(self, name: str, data: bytes) -> bytes:
        failure: Exception | None = None
        for _ in range(_TRIES):
            try:
                self._create(name, data)
            except Exception as error:
                failure = error
            # Whether a write that failed has taken effect, and whose it was, is decided by reading.
            try:
                content: bytes = self._fs.cat_file(self._path(name))
                return content
            except FileNotFoundError as error:
                # A write that timed out may still take effect, so a run is not open any more when it publishes.
                failure = failure or error
            except Exception as error:
                raise DatasetError(
                    f"It is unknown whether '{self}/{name}' was written: {described(failure or error, self._options)}. "
                    "It may still appear, so its files stay. Read the manifest before starting over.") from None
        raise self._failure("written", name, failure)

    def _create(self, name: str, data: bytes) -> None:
        path = self._path(name)
        if not self._is_unsafe:
            self._fs.pipe_file(path, data, mode="create")
        elif not self._fs.exists(path):
            self._fs.pipe_file(path, data)

    def verify(self, files: Iterable[DataFile]) -> None:
        sizes: dict[str, int] = {}
        listed: set[str] = set()
        for file in files:
            folder = file.path.split("/")[0]
            if folder not in listed:
                listed.add(folder)
                sizes |= {name: entry["size"] for name, entry in self._below(folder).items()}
            if file.path not in sizes:
                raise DatasetError(f"The dataset's file '{self}/{file.path}' is lost.")
            if sizes[file.path] != file.size:
                raise DatasetError(
                    f"The dataset's file '{self}/{file.path}' has {sizes[file.path]} instead of {file.size} bytes.")

    def is_of_job(self, entry: str, job: str) -> bool:
        return entry.rpartition("-")[0] == f"shards-{job}"

    def start(self, run: str) -> None:
        name = f"shards-{run}/{OPEN}"
        if self.claim(name, b"first") != b"first":
            raise DatasetError(f"The run '{run}' in '{self}' exists already.")

    def claim(self, name: str, data: bytes) -> bytes:
        """Creates an object, and checks that a store refuses to create it again. Returns the content that it has."""
        content = self.create(name, data)
        if self._is_unsafe or content != data:
            return content
        try:
            self._fs.pipe_file(self._path(name), b"second", mode="create")
        except Exception as error:
            if _is_refusal(error) and self.read(name) == data:
                return content
            raise self._failure("checked for conditional writes", name, error) from None
        with contextlib.suppress(DatasetError):
            self._remove([name])
        raise DatasetError(
            f"'{self}' ignores the condition of a write, so two drivers could publish at once. Use a store with "
            "conditional writes. If there is only one driver, pass unsafe_single_driver=True.")

    def check_is_open(self, run: str) -> None:
        folder = f"shards-{run}"
        # By listing, because an error of a request for one object's size has no text.
        if f"{folder}/{OPEN}" not in self._below(folder, prefix=OPEN):
            raise DatasetError(f"The run '{run}' in '{self}' has been published or removed.")

    def staging(self, run: str) -> None:
        return None

    def add(self, run: str, folder: Path, name: str) -> None:
        self.put(folder / name, f"shards-{run}/{name}")

    def put(self, local: Path, name: str) -> None:
        """Uploads a file, which appears whole, in place of another one."""
        with self._explained("written", name):
            self._fs.put_file(str(local), self._path(name), **self._kind.uploading)
            stored, size = self._fs.info(self._path(name))["size"], local.stat().st_size
            if stored != size:
                raise DatasetError(f"'{self}/{name}' has {stored} instead of {size} bytes after its upload.")

    def get(self, name: str, local: Path) -> None:
        """Downloads a file, which appears whole."""
        temporary = local.with_name(local.name + ".partial")
        with self._explained("read", name):
            self._fs.get_file(self._path(name), str(temporary))
            temporary.rename(local)

    def digest(self, name: str) -> str:
        """Returns the SHA-256 of a file's content."""
        with self._explained("read", name), self._fs.open(self._path(name), "rb", block_size=_PART_BYTES) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def sizes(self) -> dict[str, int]:
        """Returns the size of each file at the top of the dataset."""
        with self._explained("listed"):
            try:
                entries = self._fs.ls(self._root, detail=True)
            except FileNotFoundError:
                return {}
        return {self._name(entry["name"]): entry["size"] for entry in entries if entry["type"] == "file"}

    def seal(self, run: str, files: Iterable[DataFile]) -> None:
        self.check_is_open(run)
        self.verify(DataFile(f"shards-{run}/{file.path}", file.size) for file in files)
        self._remove([f"shards-{run}/{OPEN}"])

    def remove(self, run: str) -> None:
        with contextlib.suppress(DatasetError):
            self._sweep(run, set())

    def sweep(self, run: str, files: Iterable[DataFile]) -> None:
        # The dataset is published. What cannot be removed is left to `vacuum`.
        with contextlib.suppress(DatasetError):
            self._sweep(run, {file.path for file in files})

    def abandon(self, run: str) -> None:
        with contextlib.suppress(DatasetError):
            self.check_is_open(run)
            self._sweep(run, set())

    def modified(self) -> dict[str, datetime]:
        with self._explained("listed"):
            found = self._fs.find(self._root, detail=True)
        names = {self._name(path): entry for path, entry in found.items()}
        return {name: _time(entry) for name, entry in names.items() if name.startswith(("shards-", "manifest"))}

    def delete(self, names: list[str]) -> None:
        self._remove(names)
        for run in {run_of(name) for name in names if name.endswith(f"/{OPEN}")}:
            self.abort_uploads(f"shards-{run}")

    def _sweep(self, run: str, kept: set[str]) -> None:
        folder = f"shards-{run}"
        self._remove([name for name in self._below(folder) if name not in kept])
        self.abort_uploads(folder)

    def abort_uploads(self, folder: str = "") -> None:
        """Aborts multipart uploads of processes that were killed, those at the top of the dataset or all in a folder.

        Other stores than S3 forget them by themselves.
        """
        bucket, _, key = self._path(folder).partition("/")
        if self._kind.package != "s3fs" or not key:
            return
        page: dict[str, Any] = {"IsTruncated": True}
        with self._explained("cleared of uploads", folder):
            while page.get("IsTruncated"):
                start = {to: page[of] for to, of in _MARKERS if of in page}
                page = self._fs.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=f"{key}/", **start)
                for upload in page.get("Uploads", ()):
                    if not folder and "/" in upload["Key"].removeprefix(f"{key}/"):
                        continue  # that of another dataset
                    self._fs.abort_mpu(bucket, upload["Key"], upload["UploadId"])

    def _below(self, folder: str, **options: Any) -> dict[str, dict[str, Any]]:
        with self._explained("listed", folder):
            found = self._fs.find(self._path(folder), detail=True, **options)
        return {self._name(path): entry for path, entry in found.items()}

    def _remove(self, names: list[str]) -> None:
        if names:
            with self._explained("removed", names[0]), contextlib.suppress(FileNotFoundError):
                self._fs.rm([self._path(name) for name in names])

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def _name(self, path: str) -> str:
        return path.removeprefix(self._root).strip("/")

    @contextlib.contextmanager
    def _explained(self, verb: str, name: str = "") -> Iterator[None]:
        """Raises errors of the store as `DatasetError`, without the original one, which may have credentials."""
        try:
            yield
        except DatasetError:
            raise
        except Exception as error:
            raise self._failure(verb, name, error) from None

    def _failure(self, verb: str, name: str, error: BaseException | None) -> DatasetError:
        what = f"{self}/{name}" if name else str(self)
        return DatasetError(f"'{what}' could not be {verb}: {described(error, self._options)}")


_MARKERS = (("KeyMarker", "NextKeyMarker"), ("UploadIdMarker", "NextUploadIdMarker"))


def _time(entry: Mapping[str, Any]) -> datetime:
    """The time of an object's last change, which each file system names differently."""
    time = next(entry[name] for name in ("LastModified", "updated", "last_modified", "created") if name in entry)
    found = time if isinstance(time, datetime) else datetime.fromisoformat(time)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _is_refusal(error: Exception) -> bool:
    """Whether a conditional write failed because the object exists."""
    code = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
    return isinstance(error, FileExistsError) or code in ("PreconditionFailed", "412")


def described(error: BaseException | None, options: StorageOptions) -> str:
    """What an error and those before it say, without credentials: those in options, and in the environment."""
    texts: list[str] = []
    while error is not None:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    text = " / ".join(dict.fromkeys(texts))
    environment = {name: value for name, value in os.environ.items() if re.search("KEY|SECRET|TOKEN|PASSWORD", name)}
    for secret in sorted(_secrets(options) | _secrets(environment), key=len, reverse=True):
        text = text.replace(secret, "…")
    return re.sub(r"\?[^\s'\"]+|(?<=//)[^/\s@]+(?=@)", "…", text)


def _secrets(options: Any) -> set[str]:
    if isinstance(options, Mapping):
        return set().union(*map(_secrets, options.values()))
    is_url = isinstance(options, str) and options.startswith(("http://", "https://"))
    return {options} if isinstance(options, str) and len(options) >= 8 and not is_url else set()
