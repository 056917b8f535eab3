"""The content that a page shows, from its elements, and the expected content, from lines of JSON."""

import json
import pathlib
import re

from numbers_as_shown import SHOWN

# Every number of the page with its name, exact value, unit and shown text.
FIGURES = """[...document.querySelectorAll("data")].map((element) => ({
    name: element.dataset.name, value: Number(element.value), unit: element.dataset.unit, text: element.textContent,
    load: element.closest("[data-load]")?.dataset.load ?? null,
}))"""

# All rows of the list in order, read by scrolling through it. Numbers are exact values.
ROWS = """(async () => {
    const grid = document.getElementById("grid");
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const rows = new Map();
    const before = grid.scrollTop;
    for (let top = 0; ; top += grid.clientHeight - 60) {
        grid.scrollTop = top;
        await frames();
        for (const row of grid.querySelectorAll(".rows .row")) {
            const cells = {};
            for (const cell of row.querySelectorAll("[role=gridcell]")) {
                const name = cell.className.replace("cell ", "");
                const number = cell.querySelector("data");
                cells[name] = number && name !== "url" ? Number(number.value) : cell.textContent;
                if (name === "url") {
                    cells.url = [...cell.querySelectorAll(".host, .path")].map((part) => part.textContent).join("");
                    cells.others = number ? Number(number.value) : 0;
                }
            }
            rows.set(Number(row.getAttribute("aria-rowindex")), cells);
        }
        if (top + grid.clientHeight >= grid.scrollHeight) break;
    }
    grid.scrollTop = before;
    await frames();
    return [...rows].sort((one, other) => one[0] - other[0]).map((row) => row[1]);
})()"""

# The details of the selected load.
DETAILS = """(() => {
    const box = document.getElementById("details");
    const facts = {};
    for (const name of box.querySelectorAll("dt")) {
        const numbers = [...name.nextSibling.querySelectorAll("data")].map((each) => Number(each.value));
        facts[name.textContent] = numbers.length > 0 ? numbers : name.nextSibling.textContent;
    }
    const value = (row, name) => Number(row.querySelector(`data[data-name="${name}"]`)?.value ?? 0);
    return {
        hidden: box.hidden, id: Number(box.dataset.load), url: box.querySelector(".url")?.textContent, facts,
        spans: [...box.querySelectorAll("[data-span]")].map((row) => ({
            stage: row.dataset.span, start: value(row, "span.start"), time: value(row, "span.time"),
            others: value(row, "span.others"),
        })),
        marks: [...box.querySelectorAll("li[data-mark]")].map((row) => ({
            kind: row.dataset.mark, at: value(row, "mark.at"), text: row.textContent,
        })),
    };
})()"""


# Every image of the page with its load, attributes, container and size.
PICTURES = """[...document.querySelectorAll("img")].map((image) => ({
    load: image.closest("[data-load], tr")?.dataset.load ?? null, alt: image.alt, src: image.src,
    loading: image.loading, decoding: image.decoding, box: image.parentElement.className,
    width: image.clientWidth, height: image.clientHeight,
}))"""

# The only source allowed for a thumbnail: a `data:` URL of an image that Inflight encoded.
OWN_PICTURE = re.compile(r"data:image/(webp|jpeg|png);base64,[A-Za-z0-9+/]+={0,2}")

# The page's content security policy.
POLICY = """document.querySelector('meta[http-equiv="Content-Security-Policy"]').content"""


def upper_bound(value):
    """The upper bound of a value's histogram bucket. There are 32 buckets per power of two."""
    if value < 32:
        return value
    shift = value.bit_length() - 6
    return ((value >> shift) + 1 << shift) - 1


def percentiles(values):
    """The count and the percentiles of values as the page shows them, by the nearest-rank method."""
    ordered = sorted(values)
    told = {"count": len(ordered)}
    for percent in (50, 90, 95, 99):
        rank = max(1, -(-percent * len(ordered) // 100))
        told[f"p{percent}"] = min(upper_bound(ordered[rank - 1]), ordered[-1])
    return told


def lines(path):
    """The objects in a file of JSON lines. Only line feeds end a line, because strings may contain others."""
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n") if line]


def wrongly_shown(figures):
    """The numbers whose shown text does not match their exact value."""
    return [each for each in figures if SHOWN[each["unit"]](each["value"]) != each["text"]]


def counted(values):
    counts = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return counts


def reasons(loads):
    """The count of failed loads by error code, and by status for `badStatus`."""
    failed = [load for load in loads if load.get("error")]
    return counted(
        (load["error"]["code"], load.get("status") if load["error"]["code"] == "badStatus" else None) for load in failed)
