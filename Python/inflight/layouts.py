"""`--layout parquet` and `--layout tfrecord`: datasets that are converted from the shards of the command.

    DIR/00000.parquet, DIR/00000_stats.json …   the dataset, a file for each shard
    DIR/layout.json                             the layout, and the types of the columns of lists in Parquet
    DIR/run                                     the folder of the command, with WebDataset shards

The command alone knows which rows are done. A file is converted again when its shard has changed: it has the time of
the shard's last change.
"""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from inflight.errors import DatasetError

if TYPE_CHECKING:
    import pyarrow as pa

LAYOUTS = ("parquet", "tfrecord")
NAME, RUN = "layout.json", "run"


@dataclass(frozen=True)
class ConvertedFolder:
    """The folder of a dataset in a layout that the command lacks."""

    folder: Path
    layout: str
    schema: str | None = None
    """The columns of the input, serialized, if their types are known."""

    @classmethod
    def opened(cls, folder: str) -> Self | None:
        """Returns the folder of a dataset, `None` if it is another one."""
        try:
            values = json.loads((Path(folder) / NAME).read_bytes())
            return cls(Path(folder), values["layout"], values["schema"])
        except OSError:
            return None
        except (ValueError, KeyError, TypeError):
            raise DatasetError(f"'{folder}/{NAME}' is damaged. Remove it, and run the same command again.") from None

    @classmethod
    def created(cls, folder: str, layout: str, schema: "pa.Schema | None") -> Self:
        """Creates the folder for a run, or opens it again."""
        path = Path(folder)
        new = cls(path, layout, base64.b64encode(schema.serialize()).decode() if schema else None)
        if old := cls.opened(folder):
            if old.layout != layout:
                raise DatasetError(f"The dataset in '{folder}' has the layout {old.layout}. Use another folder.")
            return new
        try:
            path.mkdir(exist_ok=True)
            if any(path.iterdir()):
                raise DatasetError(f"The output folder '{folder}' is not empty. Use another folder.")
            new._write()
        except OSError as error:
            raise DatasetError(f"The output folder '{folder}' cannot be used: {error.strerror}.") from None
        return new

    @property
    def run(self) -> str:
        return str(self.folder / RUN)

    def discard_unused(self) -> None:
        """Removes the folder again if the command has refused its arguments."""
        if [entry.name for entry in self.folder.iterdir()] == [NAME]:
            (self.folder / NAME).unlink()
            self.folder.rmdir()

    @property
    def is_recorded(self) -> bool:
        """Whether the folder has the types of these columns."""
        return self.opened(str(self.folder)) == self

    def convert(self, format: str | None) -> int:
        """Converts the shards that have changed, and returns their number.

        `format` is that of all images, if they have one. If the types of the columns have changed, all shards have.
        """
        with _locked(self.folder):
            return self._convert_changed(format)

    def _convert_changed(self, format: str | None) -> int:
        is_same = self.is_recorded
        changed = [archive for archive in self._archives() if not is_same or not self._is_converted(archive)]
        try:
            for archive in changed:
                self._convert(archive, format)
            if not is_same:
                self._write()
        except OSError as error:
            raise DatasetError(f"The dataset in '{self.folder}' cannot be written: {error}") from None
        except (tarfile.TarError, ValueError) as error:
            raise DatasetError(f"A shard in '{self.run}' is damaged: {error}") from None
        return len(changed)

    def problems(self, format: str | None) -> Iterator[str]:
        """Compares the dataset with the shards. Yields what is wrong."""
        expected = {NAME, RUN}
        for archive in self._archives():
            target = self._target(archive)
            expected |= {target.name, _statistics(archive).name}
            if not self._is_converted(archive):
                yield f"{target}: It is missing, or its shard has changed since. Run the same command again."
            elif difference := self._difference(archive, format):
                yield f"{target}: {difference}"
        for name in sorted({entry.name for entry in self.folder.iterdir()} - expected):
            yield f"{self.folder / name}: It does not belong to the dataset."

    def _archives(self) -> list[Path]:
        return sorted((self.folder / RUN).glob("*.tar"))

    def _target(self, archive: Path) -> Path:
        return self.folder / f"{archive.stem}.{self.layout}"

    def _is_converted(self, archive: Path) -> bool:
        target = self._target(archive)
        return target.exists() and target.stat().st_mtime_ns == _time(archive)

    def _convert(self, archive: Path, format: str | None) -> None:
        target, time = self._target(archive), _time(archive)
        temporary = target.with_name(target.name + ".partial")
        if self.layout == "parquet":
            from inflight import parquet

            parquet.write(_sidecar(archive), self._schema(), format, temporary)
        else:
            from inflight import tfrecord

            tfrecord.write(archive, format is None, temporary)
        shutil.copyfile(_statistics(archive), self.folder / _statistics(archive).name)
        os.utime(temporary, ns=(time, time))
        temporary.rename(target)

    def _difference(self, archive: Path, format: str | None) -> str | None:
        if self.layout == "parquet":
            from inflight import parquet

            return parquet.difference(_sidecar(archive), self._schema(), format, self._target(archive))
        from inflight import tfrecord

        return tfrecord.difference(archive, format is None, self._target(archive))

    def _schema(self) -> "pa.Schema":
        import pyarrow as pa

        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.schema))) if self.schema else pa.schema([])

    def _write(self) -> None:
        temporary = self.folder / (NAME + ".partial")
        temporary.write_text(json.dumps({"layout": self.layout, "schema": self.schema}) + "\n", encoding="utf-8")
        temporary.rename(self.folder / NAME)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The command has a lock of its own, and has ended."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DatasetError(f"Another run converts the dataset in '{folder}'. Wait until it has ended.") from None
    finally:
        os.close(descriptor)


def _sidecar(archive: Path) -> Path:
    return archive.with_name(f"{archive.stem}.jsonl.zst")


def _statistics(archive: Path) -> Path:
    return archive.with_name(f"{archive.stem}_stats.json")


def _time(archive: Path) -> int:
    return max(path.stat().st_mtime_ns for path in (archive, _sidecar(archive)))
