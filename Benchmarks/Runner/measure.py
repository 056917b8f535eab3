"""Runs programs alternately and builds a table of their figures."""

import statistics
import subprocess
import sys


def say(text):
    print(text, file=sys.stderr, flush=True)


def sample(command, **options):
    """Runs a program whose last line of output is `name=value …`, and returns the values as a dictionary."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout}")
    return numbers(lines[-1])


def numbers(line):
    return {name: float(value) for name, value in (part.split("=") for part in line.split())}


def in_turns(rounds, **sides):
    """Calls each side once per round, A B, B A …, and returns the samples of each. The first round is a warm-up."""
    samples = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, measure in list(sides.items())[::-1 if turn % 2 else 1]:
            value = measure()
            if turn > 0:
                samples[name].append(value)
    return samples


def shown(value):
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values):
    return f"{shown(min(values))} … {shown(max(values))}"


class Table:
    """The results, one row per measurement. `markdown` formats them."""

    def __init__(self):
        self.rows = []

    def add(self, what, ours, peer="", ratio="", target=""):
        self.rows.append((what, ours, peer, ratio, target))
        say("  " + " | ".join(part for part in (what, ours, peer, ratio, target and f"target {target}") if part))

    def compare(self, what, unit, ours, peer, peer_name, target=""):
        """Adds the medians of both sides, and the median and the range of the ratios of adjacent measurements."""
        ratios = [a / b for a, b in zip(ours, peer)]
        self.add(
            what,
            f"{shown(statistics.median(ours))} {unit}",
            f"{peer_name}: {shown(statistics.median(peer))} {unit}",
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f})",
            target,
        )

    def alone(self, what, unit, values, target=""):
        figures = (shown(statistics.median(values)), unit, f"({spread(values)})")
        self.add(what, " ".join(filter(None, figures)), target=target)

    def markdown(self):
        yield "| measurement | ours (median) | peer (median) | ratio (range) | target |"
        yield "|---|---|---|---|---|"
        for row in self.rows:
            yield "| " + " | ".join(row) + " |"
