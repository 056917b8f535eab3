// Charts of the run on the time axis of the list: loads in flight, bytes per second, and each lane.

const timelineRows = [];
let overview;

function makeTimeline() {
    const add = (name, label, height, draw, canvas) => {
        const element = canvas ?? make("canvas", { "aria-hidden": "true" });
        const scale = make("span", { class: "scale" });
        byId("timeline").append(make("div", { class: `track ${name}` },
            make("div", { class: "label" }, make("span", {}, ...label), scale), element));
        timelineRows.push({ element, height, draw, scale });
        if (name !== "overview") timeByPointer(element);
    };
    overview = make("canvas", {
        tabindex: "0", role: "slider", "aria-label": "What is seen of the time", "aria-valuemin": "0",
        "aria-valuemax": String(whole), id: "overview",
    });
    add("overview", ["Whole run"], 40, drawOverview, overview);
    if (run.bytes.length > 0) {
        add("bytes", ["Bytes a second, ", figure("received", run.bytes.at(-1)[1], "B"), " in all"], 46, drawBytes);
    }
    for (const [index, lane] of lanes.entries()) {
        const label = [`Lane ${brief(lane.name)}, at most `, figure(`lane.${index}.limit`, lane.limit)];
        add("lane", label, 34, (pen, width, height, scale) => drawLane(lane, pen, width, height, scale));
    }
    add("axis", [], 20, drawAxis);
    moveWindowByPointer();
}

function drawTimeline() {
    for (const { element, height, draw, scale } of timelineRows) {
        const width = element.clientWidth;
        element.style.height = `${height}px`;
        draw(sharpPen(element, width, height), width, height, scale);
    }
    const text = `${timeText(Math.round(view.from))} to ${timeText(Math.round(view.to))} of ${timeText(run.duration)}`;
    overview.setAttribute("aria-valuenow", String(Math.round(view.from)));
    overview.setAttribute("aria-valuetext", text);
    overview.title = text;
    const grid = byId("grid");
    grid.dataset.from = String(Math.round(view.from));
    grid.dataset.to = String(Math.round(view.to));
    byId("zoom-in").disabled = view.to - view.from <= Math.min(whole, NEAREST);
    byId("zoom-out").disabled = byId("zoom-all").disabled = view.to - view.from >= whole;
}

// The loads in flight at the end of each part of the run, including those that are not listed.
let lastCount = 0;
const underWay = run.timeline.parts.map(([started, ended]) => {
    lastCount += started - ended;
    return lastCount;
});

function drawOverview(pen, width, height, scale) {
    const most = Math.max(1, ...underWay);
    scale.textContent = `up to ${grouped(most)} at once`;
    const floor = height - 5;
    pen.fillStyle = colours.faint;
    pen.beginPath();
    pen.moveTo(0, floor);
    const part = (run.timeline.step / whole) * width;
    underWay.forEach((count, index) => {
        const y = floor - (count / most) * (floor - 3);
        pen.lineTo(index * part, y);
        pen.lineTo((index + 1) * part, y);
    });
    pen.lineTo(underWay.length * part, floor);
    pen.fill();
    pen.fillStyle = colours.bad;
    run.timeline.parts.forEach(([, , failed], index) => {
        if (failed > 0) pen.fillRect((index + 0.5) * part - 0.75, floor + 1, 1.5, 4);
    });
    const [left, right] = [(view.from / whole) * width, (view.to / whole) * width];
    pen.fillStyle = colours.ground;
    pen.globalAlpha = 0.72;
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, width - right, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(left + 0.75, 0.75, Math.max(3, right - left - 1.5), height - 1.5);
}

// Returns the index of the last sample at or before a time, or -1.
function sampleBefore(samples, time) {
    let [low, high] = [0, samples.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (samples[middle][0] <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

// Returns the bytes received until a time, interpolated between two samples.
function bytesUntil(time) {
    const index = sampleBefore(run.bytes, time);
    const [at, bytes] = run.bytes[index] ?? [0, 0];
    const [nextAt, nextBytes] = run.bytes[index + 1] ?? [at, bytes];
    return nextAt <= at ? bytes : bytes + ((nextBytes - bytes) * (time - at)) / (nextAt - at);
}

function drawBytes(pen, width, height, scale) {
    const step = 3;
    const rates = [];
    for (let x = 0; x < width; x += step) {
        const [from, to] = [timeOf(x, width), timeOf(x + step, width)];
        rates.push((bytesUntil(to) - bytesUntil(from)) / ((to - from) / 1e6));
    }
    const most = Math.max(1, ...rates);
    scale.textContent = `up to ${bytesText(Math.round(most))}/s`;
    pen.fillStyle = colours.stages.download;
    rates.forEach((rate, index) => {
        const high = (rate / most) * (height - 6);
        pen.fillRect(index * step, height - high, step - 0.5, high);
    });
    pen.fillStyle = colours.line;
    pen.fillRect(0, height - 1, width, 1);
}

function drawLane(lane, pen, width, height, scale) {
    const columns = Math.max(1, Math.floor(width / 2));
    const running = new Array(columns);
    const waiting = new Array(columns);
    let index = sampleBefore(lane.samples, view.from);
    for (let column = 0; column < columns; column += 1) {
        const until = timeOf((column + 1) * 2, width);
        [, running[column], waiting[column]] = lane.samples[index] ?? [0, 0, 0];
        while (index + 1 < lane.samples.length && lane.samples[index + 1][0] < until) {
            index += 1;
            running[column] = Math.max(running[column], lane.samples[index][1]);
            waiting[column] = Math.max(waiting[column], lane.samples[index][2]);
        }
    }
    const most = Math.max(1, ...waiting);
    const top = Math.max(1, lane.limit, ...running);
    scale.textContent = most > 1 || waiting.includes(1) ? `up to ${grouped(most)} waiting` : "nothing waits";
    const half = height - 5;
    pen.fillStyle = colours.accent;
    running.forEach((count, column) => {
        const high = (count / top) * half;
        pen.fillRect(column * 2, height - high, 2, high);
    });
    pen.strokeStyle = colours.warn;
    pen.lineWidth = 1.5;
    pen.beginPath();
    waiting.forEach((count, column) => {
        pen.lineTo(column * 2 + 1, height - 1 - (count / most) * half);
    });
    if (waiting.some((count) => count > 0)) pen.stroke();
    pen.strokeStyle = colours.muted;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.strokeRect(-1, height - (lane.limit / top) * half - 0.5, width + 2, height);
    pen.setLineDash([]);
}

function drawAxis(pen, width, height) {
    const { step, times } = ticks(view.from, view.to, width / 90);
    pen.fillStyle = colours.muted;
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    for (const time of times) {
        const x = xOf(time, width);
        pen.fillRect(x, 0, 1, 5);
        const text = tickText(time, step);
        const half = pen.measureText(text).width / 2;
        pen.fillText(text, Math.min(width - half * 2, Math.max(0, x - half)), height - 7);
    }
}

// Dragging the window of the overview moves it; dragging beside it draws a new one.
function moveWindowByPointer() {
    let drag = null;
    const time = (event) => (event.offsetX / overview.clientWidth) * whole;
    overview.addEventListener("pointerdown", (event) => {
        const at = time(event);
        const isWhole = view.to - view.from >= whole;
        const moves = !isWhole && at >= view.from && at <= view.to;
        drag = { at, moves, from: view.from, length: view.to - view.from };
        overview.setPointerCapture(event.pointerId);
    });
    overview.addEventListener("pointermove", (event) => {
        if (!drag) return;
        const at = time(event);
        if (drag.moves) {
            const from = Math.min(Math.max(0, drag.from + at - drag.at), whole - drag.length);
            showTime(from, from + drag.length);
        } else if (Math.abs(at - drag.at) > whole / 200) {
            showTime(Math.max(0, Math.min(at, drag.at)), Math.min(whole, Math.max(at, drag.at)));
        }
    });
    for (const name of ["pointerup", "pointercancel"]) overview.addEventListener(name, () => { drag = null; });
    overview.addEventListener("dblclick", () => showTime(0, whole));
}

// A click that ends a drag over a row does not choose that row.
let hasDragged = false;

// Controls the time over a chart or a bar: dragging zooms, Ctrl and the wheel zoom, Shift and the wheel move.
function timeByPointer(element, isTime = () => true) {
    let drag = null;
    const band = make("div", { class: "band", hidden: "" });
    const place = (event) => {
        const box = timeBox();
        return { x: Math.min(box.width, Math.max(0, event.clientX - box.left)), width: box.width, box };
    };
    element.addEventListener("pointerdown", (event) => {
        if (event.button !== 0 || event.pointerType === "touch" || !isTime(event)) return;
        drag = { ...place(event), isMoved: false };
        hasDragged = false;
    });
    window.addEventListener("pointermove", (event) => {
        if (!drag) return;
        const { x, box } = place(event);
        if (Math.abs(x - drag.x) < 5 && !drag.isMoved) return;
        if (!drag.isMoved) byId("loads").append(band);
        drag.isMoved = true;
        event.preventDefault();
        const host = byId("loads").getBoundingClientRect();
        const area = element.getBoundingClientRect();
        band.hidden = false;
        band.style.left = `${box.left - host.left + Math.min(x, drag.x)}px`;
        band.style.width = `${Math.abs(x - drag.x)}px`;
        band.style.top = `${area.top - host.top}px`;
        band.style.height = `${area.height}px`;
    });
    window.addEventListener("pointerup", (event) => {
        if (!drag) return;
        const { x, width } = place(event);
        if (drag.isMoved) {
            const [from, to] = [timeOf(Math.min(x, drag.x), width), timeOf(Math.max(x, drag.x), width)];
            showTime(from, to);
            hasDragged = true;
        }
        drag = null;
        band.hidden = true;
    });
    element.addEventListener("dblclick", (event) => { if (isTime(event)) showTime(0, whole); });
    element.addEventListener("wheel", (event) => {
        const { x, width } = place(event);
        if (event.ctrlKey || event.metaKey || event.altKey) {
            event.preventDefault();
            zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeOf(x, width));
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            event.preventDefault();
            pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) / width);
        }
    }, { passive: false });
}
