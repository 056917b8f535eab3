// Keyboard control.

const KEYS = [
    ["/", "search"], ["Esc", "leave the search, close what is open"], ["↑ ↓, j k", "the load above, below"],
    ["Page ↑ ↓, Home, End", "further"], ["Enter", "show all of this load"], ["+ −", "zoom in, out"],
    ["0", "the whole run"], ["r", "the time of the loads that are seen"],
    ["← →", "earlier, later"], ["z", "zoom to the chosen load"],
    ["t", "colours: auto, light, dark"],
    ["?", "these keys"], ["Ctrl and wheel", "zoom where the pointer is"], ["Shift and wheel", "earlier, later"],
    ["drag over bars", "zoom to that time"], ["double click on bars", "the whole run"],
];

function makeKeys() {
    const dialog = byId("keys");
    const close = make("button", {
        type: "button", class: "close", "aria-label": "Close", click: () => dialog.close(),
    }, "×");
    dialog.append(close, make("h2", { id: "keys-title" }, "Keys"),
        make("dl", {}, ...KEYS.flatMap(([key, meaning]) =>
            [make("dt", {}, make("kbd", {}, key)), make("dd", {}, meaning)])),
        make("p", { class: "quiet" }, "Search: words that all have to be found; -word must not be; fields are exact: ",
            "id:7 outcome:failed status:404 from:disk format:png code:badStatus stage:decode"));
    byId("help").addEventListener("click", () => dialog.showModal());
    byId("theme").addEventListener("click", nextTheme);
    byId("print").addEventListener("click", () => window.print());
    byId("zoom-in").addEventListener("click", () => zoom(0.5));
    byId("zoom-out").addEventListener("click", () => zoom(2));
    byId("zoom-rows").addEventListener("click", showTimeOfRows);
    byId("zoom-all").addEventListener("click", () => showTime(0, whole));
    overview.addEventListener("keydown", (event) => {
        const move = {
            ArrowLeft: -0.1, ArrowRight: 0.1, ArrowDown: -0.1, ArrowUp: 0.1, PageUp: -1, PageDown: 1,
        }[event.key];
        if (move !== undefined) pan(move);
        else if (event.key === "Home") pan(-Infinity);
        else if (event.key === "End") pan(Infinity);
        else return;
        event.preventDefault();
    });
    document.addEventListener("keydown", keyAnywhere);
}

const isTyping = (element) => element instanceof HTMLInputElement;

function keyAnywhere(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || byId("keys").open) return;
    const action = {
        "/": () => byId("search").focus(), "?": () => byId("keys").showModal(), t: nextTheme,
        "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => showTime(0, whole), r: showTimeOfRows,
        z: () => { if (view.chosen) zoomTo(view.chosen); },
        Escape: () => { if (view.chosen) closeDetails(); },
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
}

function zoomTo(load) {
    const margin = Math.max(1, load.time * 0.05);
    showTime(load.start - margin, load.end + margin);
}

// Zooms to the time of the visible rows.
function showTimeOfRows() {
    const first = Math.ceil(grid.scrollTop / ROW_HEIGHT);
    const last = Math.floor((grid.scrollTop + grid.clientHeight - headHeight()) / ROW_HEIGHT);
    const rows = view.rows.slice(first, Math.max(first + 1, last));
    if (rows.length === 0) return;
    let [from, to] = [Infinity, -Infinity];
    for (const load of rows) [from, to] = [Math.min(from, load.start), Math.max(to, load.end)];
    const margin = Math.max(1, (to - from) * 0.02);
    showTime(from - margin, to + margin);
}

function keyInRows(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((grid.clientHeight - headHeight()) / ROW_HEIGHT) - 1);
    const step = {
        ArrowUp: -1, k: -1, ArrowDown: 1, j: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity,
    }[event.key];
    if (step !== undefined) focusRow(focused + step);
    else if (event.key === "ArrowLeft") pan(-0.1);
    else if (event.key === "ArrowRight") pan(0.1);
    else if (event.key === "Enter" || event.key === " ") choose(view.rows[focused]);
    else return;
    event.preventDefault();
    event.stopPropagation();
}
