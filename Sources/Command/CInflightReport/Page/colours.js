// The names of stages and marks, and the colours of the style sheet, light and dark.

const STAGE_NAMES = {
    queued: "Queued", disk: "Read from disk", backoff: "Waiting to retry", nameLookup: "Name lookup",
    connect: "Connecting", tls: "TLS", firstByte: "Waiting for the answer", download: "Download", decode: "Decode",
    process: "Process", encode: "Encode", store: "Write to disk", deliver: "Waiting for delivery",
};
const MARK_NAMES = {
    joined: "Joined work under way", redirected: "Redirected", retried: "Retried", revalidated: "Revalidated",
    resumed: "Resumed", preview: "Preview", cancelled: "Cancelled", failed: "Failed",
};
const stageName = (stage) => STAGE_NAMES[stage] ?? stage;
const markName = (kind) => MARK_NAMES[kind] ?? kind;
// Stages without work, drawn thin so that work stands out.
const WAITING = new Set(["queued", "backoff", "firstByte", "deliver"]);

const colours = {};

function readColours() {
    const probe = make("span", { hidden: "" });
    document.body.append(probe);
    const read = (name) => {
        probe.style.color = `var(--${name})`;
        return getComputedStyle(probe).color;
    };
    colours.stages = Object.fromEntries(stages.map((name) => [name, read(`stage-${name}`)]));
    for (const name of ["text", "muted", "faint", "line", "ground", "accent", "bad", "warn", "good", "track"]) {
        colours[name] = read(name);
    }
    probe.remove();
    colours.hatch = hatch(colours.ground);
}

// Returns the pattern of stripes for shared work.
function hatch(colour) {
    const tile = make("canvas", { width: 6, height: 6 });
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
        pen.moveTo(shift - 1, 7);
        pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
    return pen.createPattern(tile, "repeat");
}

const THEMES = [["", "Auto", "as the system has them"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];
let themeIndex = 0;

function nextTheme() {
    themeIndex = (themeIndex + 1) % THEMES.length;
    const [theme, name, description] = THEMES[themeIndex];
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    byId("theme").textContent = name;
    byId("theme").setAttribute("aria-label", `Colours: ${description}`);
    coloursChanged();
}

function coloursChanged() {
    readColours();
    view.changed("colours");
}
