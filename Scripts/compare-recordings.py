#!/usr/bin/env python3
"""Compares what two engines have told the same simulated callers.

    Scripts/compare-recordings.py OLD NEW [--show N]

OLD and NEW are files of `inflight-simulate --record FILE` (also compressed, with the ending .gz) for the same seeds. A
seed differs if a task or a loader has another sequence of events. Its first different events decide how:

- Another result: the two were asked the same, and were told something else.
- Another schedule: what a caller does comes at another place of the sequence, because the engines were ready for other
  steps. `Documentation/Simulator.md` explains why that need not be an error.

Prints the numbers, all differing seeds, and the sequences of the first N (5) of each kind from their first different
event on. Fails if a seed has another result.
"""

import argparse
import gzip
import itertools
import re
import sys

HEADING = re.compile(r"seed (\d+), trace ([0-9a-f]+)$")
# The events that the engine decides. All others are acts of callers, which the schedule decides.
TOLD = re.compile(r"receives |ends: |shows |failed with |loads a fallback")
# Stands for an event where a sequence has no more.
END = "(nothing more)"


class Malformed(Exception):
    """A file that is no recording."""


def seeds_in(path):
    """Yields each seed with its trace and its sequences of events, by subject."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        seed = None
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\n")
            if heading := HEADING.match(line):
                if seed:
                    yield seed
                seed = (int(heading[1]), heading[2], {})
            elif seed and ": " in line:
                subject, events = line.split(": ", 1)
                seed[2][subject] = events.split("; ")
            else:
                raise Malformed(f"{path}:{number}: not a line of a recording")
        if seed:
            yield seed


def differences(old, new):
    """The subjects whose sequences differ, each with its first different events and whether its result is another."""
    for subject in dict.fromkeys([*old, *new]):
        pairs = list(itertools.zip_longest(old.get(subject, []), new.get(subject, []), fillvalue=END))
        before, after = (list(each) for each in zip(*pairs))
        first = next((index for index, pair in enumerate(zip(before, after)) if pair[0] != pair[1]), None)
        if first is not None:
            is_result = all(event == END or TOLD.match(event) for event in (before[first], after[first]))
            yield subject, before[first:], after[first:], is_result


def compare(old_path, new_path):
    """The number of seeds, the number of those with one trace, and the differences of each differing seed."""
    count = same_trace = 0
    differing = {}
    for old, new in itertools.zip_longest(seeds_in(old_path), seeds_in(new_path)):
        if not old or not new or old[0] != new[0]:
            seeds = [f"seed {each[0]}" if each else "no seed" for each in (old, new)]
            raise Malformed(f"not the same seeds: {old_path} has {seeds[0]} where {new_path} has {seeds[1]}")
        count += 1
        same_trace += old[1] == new[1]
        if found := list(differences(old[2], new[2])):
            differing[old[0]] = found
    if not count:
        raise Malformed(f"{old_path} is empty")
    return count, same_trace, differing


def show(seed, found, is_result):
    print(f"\nseed {seed}")
    for subject, before, after, _ in [each for each in found if each[3] == is_result][:3]:
        for name, events in [("old", before), ("new", after)]:
            print(f"  {subject}, {name}: {'; '.join(event for event in events if event != END) or END}")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--show", type=int, default=5, metavar="N")
    options = parser.parse_args(arguments)
    try:
        count, same_trace, differing = compare(options.old, options.new)
    except (OSError, UnicodeDecodeError, Malformed) as error:
        sys.exit(f"compare-recordings: {error}")
    results = {seed: found for seed, found in differing.items() if any(each[3] for each in found)}
    schedules = {seed: found for seed, found in differing.items() if seed not in results}
    print(f"{count} seeds: {count - len(differing)} with the same sequences ({same_trace} with the same trace), "
          f"{len(schedules)} with another schedule, {len(results)} with another result")
    for title, seeds, is_result in [("Another result", results, True), ("Another schedule", schedules, False)]:
        if seeds:
            print(f"\n{title}: {' '.join(map(str, seeds))}")
        for seed in list(seeds)[:options.show]:
            show(seed, seeds[seed], is_result)
    return 1 if results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
