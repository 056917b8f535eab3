// Texts and numbers as people read them. Text from servers and lists becomes text nodes, never markup.

const byId = (id) => document.getElementById(id);

// Characters that are escaped: controls, those that change the direction of text, and invisible ones. Joiners stay,
// because scripts need them.
const UNSAFE =
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e0fff}]/gu;

function visible(text) {
    return text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

// Returns an element. Functions among its attributes become event listeners; its children are elements or texts.
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

function drawing(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// Returns three significant digits: 1.23, 12.3, 123.
function short(value) {
    return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : String(Math.round(value));
}

function timeText(us) {
    if (us < 1000) return `${us} µs`;
    if (us < 999500) return `${short(us / 1e3)} ms`;
    if (us < 119.5e6) return `${short(us / 1e6)} s`;
    const seconds = Math.round(us / 1e6);
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function bytesText(count) {
    if (count < 1000) return `${count} B`;
    let [value, unit] = [count / 1000, 0];
    while (value >= 999.5 && unit < 4) [value, unit] = [value / 1000, unit + 1];
    return `${short(value)} ${["kB", "MB", "GB", "TB", "PB"][unit]}`;
}

const TEXT_OF = { us: timeText, B: bytesText, n: grouped };
const EXACT = { us: (value) => `${grouped(value)} µs`, B: (value) => `${grouped(value)} bytes`, n: grouped };

// Returns an element for a number of the run. Its text may be rounded; its `value` is exact.
function figure(name, value, unit = "n") {
    const attributes = { value: String(value), "data-name": name, "data-unit": unit };
    if (unit !== "n") attributes.title = EXACT[unit](value);
    return make("data", attributes, TEXT_OF[unit](value));
}

const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// Returns a URL without its middle, so that it keeps its host and its end.
function shortened(text, length) {
    if (text.length <= length) return text;
    const front = Math.floor((length - 1) * 0.45);
    return `${text.slice(0, front)}…${text.slice(text.length - (length - 1 - front))}`;
}

// Returns a function that runs `call` once before the next frame, however often it is called until then.
function onNextFrame(call) {
    let isDue = false;
    return () => {
        if (isDue) return;
        isDue = true;
        requestAnimationFrame(() => {
            isDue = false;
            call();
        });
    };
}
