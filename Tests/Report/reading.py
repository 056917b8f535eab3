"""What a page shows, read from its elements; and what it should show, from lines of JSON."""

import json
import pathlib
import re

from numbers_as_shown import SHOWN

# Every number of the page with its name, its exact value, its unit and what is shown.
FIGURES = """[...document.querySelectorAll("data")].map((element) => ({
    name: element.dataset.name, value: Number(element.value), unit: element.dataset.unit, text: element.textContent,
    load: element.closest("[data-load]")?.dataset.load ?? null,
}))"""

# All rows of the list as it is now, from the first to the last, by scrolling through it. Numbers by their values.
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

# What is told of the load that is chosen.
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


# Every picture of the page: where it stands, what it says it is, what it is made of, and its box.
PICTURES = """[...document.querySelectorAll("img")].map((image) => ({
    load: image.closest("[data-load], tr")?.dataset.load ?? null, alt: image.alt, src: image.src,
    loading: image.loading, decoding: image.decoding, box: image.parentElement.className,
    width: image.clientWidth, height: image.clientHeight,
}))"""

# What a small picture may be: bytes of an encoder of this program, written out.
OWN_PICTURE = re.compile(r"data:image/(webp|jpeg|png);base64,[A-Za-z0-9+/]+={0,2}")

# The policy of the page.
POLICY = """document.querySelector('meta[http-equiv="Content-Security-Policy"]').content"""


def upper_bound(value):
    """What a histogram says of a value: the end of its range, of which 32 share each power of two."""
    if value < 32:
        return value
    shift = value.bit_length() - 6
    return ((value >> shift) + 1 << shift) - 1


def percentiles(values):
    """Those that the page tells of these values, and how many there are; nearest ranks."""
    ordered = sorted(values)
    told = {"count": len(ordered)}
    for percent in (50, 90, 95, 99):
        rank = max(1, -(-percent * len(ordered) // 100))
        told[f"p{percent}"] = min(upper_bound(ordered[rank - 1]), ordered[-1])
    return told


def lines(path):
    """The lines of a file of JSON, each as an object. Only line feeds end them: texts may hold other ends."""
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n") if line]


def wrongly_shown(figures):
    """Numbers of which the shown text is not what the exact value comes to."""
    return [each for each in figures if SHOWN[each["unit"]](each["value"]) != each["text"]]


def counted(values):
    counts = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return counts


def reasons(loads):
    """How often each code, with the status where that is the reason, made a load fail."""
    failed = [load for load in loads if load.get("error")]
    return counted(
        (load["error"]["code"], load.get("status") if load["error"]["code"] == "badStatus" else None) for load in failed)
