"""Archives of a dataset."""

import itertools
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def samples(archive: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yields the samples of an archive, each with its members by extension."""
    with tarfile.open(archive, "r|") as tar:
        members = ((*member.name.partition(".")[::2], tar.extractfile(member)) for member in tar)
        contents = ((key, suffix, file.read()) for key, suffix, file in members if file)
        for key, group in itertools.groupby(contents, key=lambda member: member[0]):
            yield key, {suffix: content for _, suffix, content in group}


def image_suffix(sample: Mapping[str, bytes]) -> str:
    """Returns the extension of a sample's image."""
    return next(suffix for suffix in sample if suffix not in ("json", "txt"))
