"""Which partition fetches a URL: each host belongs to one partition, so that limits per host hold on a cluster."""

import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

PER_HOST = 2
"""The command's default of `--per-host`."""

HOT = 2
"""A host is hot if it has this many times the mean number of rows of a partition."""

ROWS_PER_PARTITION = 100_000


def host(url: str | None) -> str:
    """Returns the host of a URL in lower case, or an empty string if it has none."""
    try:
        return (urlsplit(url.strip()).hostname or "").rstrip(".") if url else ""
    except ValueError:
        return ""


def _number(text: str) -> int:
    # Equal on every machine, which Python's own hashes of strings are not.
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class HostPlan:
    """Assigns URLs to partitions, by host.

    The rows of a hot host are divided by a hash of the URL. Each of its shares has a partition of its own and a part of
    the limit per host, so that all of them together keep the limit. `shares` has the first partition and the number of
    shares of each hot host; these partitions come first.
    """

    partitions: int
    per_host: int = PER_HOST
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def balanced(cls, partitions: int, per_host: int, rows: int, hot: Mapping[str, int]) -> Self:
        """Returns a plan for `rows` rows, given the number of rows of the largest hosts."""
        shares: dict[str, tuple[int, int]] = {}
        mean = max(1, rows // max(1, partitions))
        first = 0
        for name, count in sorted(hot.items(), key=lambda item: (-item[1], item[0])):
            # The last partition remains for all other hosts.
            number = min(per_host, -(-count // mean), partitions - 1 - first)
            if name and count >= HOT * mean and number > 1:
                shares[name] = (first, number)
                first += number
        return cls(partitions, per_host, shares)

    def partition(self, url: str | None) -> int:
        """Returns the partition of a URL. Rows without a host are spread over the partitions of all other hosts."""
        name = host(url)
        if name in self.shares:
            first, number = self.shares[name]
            return first + _number(url or "") % number
        reserved = self._reserved
        return reserved + _number(name or url or "") % (self.partitions - reserved)

    def limit(self, partition: int) -> int:
        """Returns the limit per host of a partition."""
        for first, number in self.shares.values():
            if first <= partition < first + number:
                each, rest = divmod(self.per_host, number)
                return each + (partition - first < rest)
        return self.per_host

    @functools.cached_property
    def _reserved(self) -> int:
        return sum(number for _, number in self.shares.values())
