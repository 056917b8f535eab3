// Draws a load as a bar: its stages in their colours, stripes over shared work, and marks for events.

// Sets a canvas to the screen's resolution. Returns its context, which draws in CSS pixels.
function sharpPen(canvas, width, height) {
    const scale = Math.max(1, window.devicePixelRatio || 1);
    const [wide, high] = [Math.max(1, Math.round(width * scale)), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
}

const xOf = (time, width) => ((time - view.from) / (view.to - view.from)) * width;
const timeOf = (x, width) => view.from + (x / width) * (view.to - view.from);

function drawBar(canvas, load, width, height) {
    const pen = sharpPen(canvas, width, height);
    const middle = height / 2;
    const left = xOf(load.start, width);
    const right = Math.max(left + 1.5, xOf(load.end, width));
    const [low, high] = [Math.max(-2, left), Math.min(width + 2, right)];
    if (high < 0 || low > width) {
        drawAside(pen, left < 0, width, middle);
        return;
    }
    const isShared = fromOf(load) === "shared";
    pen.fillStyle = colours.track;
    if (load.spans.length === 0) {
        pen.fillRect(low, middle - 5, high - low, 10);
        if (isShared) drawHatch(pen, low, high, middle, 10);
        pen.strokeStyle = colours.muted;
        pen.lineWidth = 1;
        pen.strokeRect(low + 0.5, middle - 4.5, Math.max(0.5, high - low - 1), 9);
    } else {
        pen.fillRect(low, middle - 1, high - low, 2);
    }
    for (const span of load.spans) drawSpan(pen, span, width, middle);
    pen.globalAlpha = 1;
    for (const { kind, at } of load.marks) {
        const x = xOf(at, width);
        if (x > -8 && x < width + 8) drawMark(pen, kind, x, middle);
    }
    drawEnding(pen, load, right, middle, width);
}

function drawSpan(pen, { stage, start, time, job }, width, middle) {
    const left = xOf(start, width);
    const right = Math.max(left + 0.75, xOf(start + time, width));
    if (right < 0 || left > width) return;
    const high = thickness(stage);
    const [from, to] = [Math.max(-2, left), Math.min(width + 2, right)];
    pen.globalAlpha = view.stage && view.stage !== stage ? 0.15 : 1;
    pen.fillStyle = colours.stages[stage];
    // Wide stages are separated by half a pixel.
    const gap = to - from > 3 ? 0.5 : 0;
    if (stage === "backoff") {
        for (let x = from; x < to; x += 6) pen.fillRect(x, middle - 2, Math.min(3.5, to - x), 4);
    } else {
        pen.fillRect(from, middle - high / 2, to - from - gap, high);
    }
    if (job) drawHatch(pen, from, to - gap, middle, high);
}

// The height of a stage: low for waiting, high for work.
const thickness = (stage) => (WAITING.has(stage) ? (stage === "firstByte" ? 6 : 4) : 12);

function drawHatch(pen, from, to, middle, high) {
    pen.fillStyle = colours.hatch;
    pen.fillRect(from, middle - high / 2, to - from, high);
}

// Marks a failure or a cancellation by a shape, for readers who do not see its colour.
function drawEnding(pen, load, right, middle, width) {
    const isPlain = load.outcome !== "failed" && load.outcome !== "cancelled";
    // Most loads have that event among their marks.
    if (right > width + 2 || isPlain || load.marks.some(({ kind }) => kind === load.outcome)) return;
    drawMark(pen, load.outcome, Math.min(right + 6, width - 6), middle);
}

// Draws an arrow to a load outside the visible time.
function drawAside(pen, isLeft, width, middle) {
    const [x, way] = isLeft ? [3, 1] : [width - 3, -1];
    pen.fillStyle = colours.faint;
    pen.beginPath();
    pen.moveTo(x, middle);
    pen.lineTo(x + 4 * way, middle - 3.5);
    pen.lineTo(x + 4 * way, middle + 3.5);
    pen.fill();
}

// The shape of each kind of mark.
const MARK_SHAPES = {
    joined: [[0, -4.5], [4.5, 0], [0, 4.5], [-4.5, 0]],
    redirected: [[-4, -4.5], [4.5, 0], [-4, 4.5]],
    resumed: [[-4, -4.5], [-1.5, -4.5], [-1.5, -4], [4, 0], [-1.5, 4], [-1.5, 4.5], [-4, 4.5]],
    retried: [[-4.5, -4], [4.5, -4], [0, 4.5]],
    preview: [[-3.5, -3.5], [3.5, -3.5], [3.5, 3.5], [-3.5, 3.5]],
};

function drawMark(pen, kind, x, middle) {
    pen.lineWidth = 1.25;
    pen.strokeStyle = colours.ground;
    pen.fillStyle = kind === "retried" ? colours.warn : colours.text;
    pen.beginPath();
    if (kind === "failed" || kind === "cancelled" || kind === "revalidated") {
        const strokes = kind === "failed" ? [[-3.5, -3.5, 3.5, 3.5], [-3.5, 3.5, 3.5, -3.5]]
            : kind === "cancelled" ? [[-4, 0, 4, 0]] : [[-4, 0, -1, 3.5], [-1, 3.5, 4, -4]];
        for (const [fromX, fromY, toX, toY] of strokes) {
            pen.moveTo(x + fromX, middle + fromY);
            pen.lineTo(x + toX, middle + toY);
        }
        pen.lineCap = "round";
        pen.lineWidth = 4.5;
        pen.stroke();
        pen.lineWidth = 2.25;
        pen.strokeStyle = kind === "failed" ? colours.bad : kind === "cancelled" ? colours.warn : colours.good;
        pen.stroke();
        return;
    }
    for (const [index, [dx, dy]] of MARK_SHAPES[kind].entries()) {
        if (index === 0) pen.moveTo(x + dx, middle + dy);
        else pen.lineTo(x + dx, middle + dy);
    }
    pen.closePath();
    pen.fill();
    pen.stroke();
}

// Returns the stages of the listed loads, in their usual order.
function usedStages() {
    const used = new Set(loads.flatMap((load) => load.spans.map(({ stage }) => stage)));
    return stages.filter((stage) => used.has(stage));
}

// Draws the legend of colours and shapes.
function drawLegend() {
    const buttons = usedStages().map((stage) => {
        const swatch = make("canvas", { class: "swatch", "data-stage": stage, "aria-hidden": "true" });
        const alone = (isAlone) => {
            view.stage = isAlone ? stage : pressedStage();
            view.changed("colours");
        };
        const button = make("button", {
            type: "button", "aria-pressed": "false", "data-stage": stage,
            pointerenter: () => alone(true), pointerleave: () => alone(false),
            click: () => {
                const wasPressed = button.getAttribute("aria-pressed") === "true";
                for (const other of buttons) other.setAttribute("aria-pressed", "false");
                button.setAttribute("aria-pressed", String(!wasPressed));
                view.stage = wasPressed ? null : stage;
                view.changed("colours");
            },
        }, swatch, stageName(stage));
        return button;
    });
    const pressedStage = () => {
        const pressed = buttons.find((button) => button.getAttribute("aria-pressed") === "true");
        return pressed?.dataset.stage ?? null;
    };
    const kinds = new Set(loads.flatMap((load) => [load.outcome, ...load.marks.map(({ kind }) => kind)]));
    const shapes = markKinds.filter((kind) => kinds.has(kind)).map((kind) =>
        make("span", { class: "key" }, make("canvas", { class: "swatch", "data-mark": kind, "aria-hidden": "true" }),
            markName(kind)));
    if (run.jobs.length > 0 || sources.includes("shared")) {
        shapes.push(make("span", { class: "key" },
            make("canvas", { class: "swatch", "data-shared": "", "aria-hidden": "true" }), "Shared with others"));
    }
    byId("legend").replaceChildren(...buttons, ...shapes);
}

function paintLegend() {
    for (const canvas of byId("legend").querySelectorAll("canvas")) {
        const pen = sharpPen(canvas, 18, 14);
        if (canvas.dataset.mark) {
            drawMark(pen, canvas.dataset.mark, 9, 7);
            continue;
        }
        const stage = canvas.dataset.stage ?? "download";
        const high = thickness(stage);
        pen.fillStyle = canvas.dataset.shared === undefined ? colours.stages[stage] : colours.muted;
        for (let x = 0; x < 18; x += stage === "backoff" ? 6 : 18) {
            pen.fillRect(x, 7 - high / 2, stage === "backoff" ? 3.5 : 18, high);
        }
        if (canvas.dataset.shared !== undefined) drawHatch(pen, 0, 18, 7, 12);
    }
}
