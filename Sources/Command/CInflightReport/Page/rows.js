// The list of loads: a grid that holds only the visible rows.

const ROW_HEIGHT = 26;
// The style sheet hides columns on narrow screens. The details have all of them.
const COLUMNS = [
    { name: "id", label: "#", cell: (load) => [figure("id", load.id)] },
    { name: "url", label: "URL", cell: urlCell },
    { name: "outcome", label: "Outcome", cell: (load) => [outcomeText(load)] },
    { name: "status", label: "Status", cell: (load) => known("status", load.status) },
    { name: "from", label: "From", cell: (load) => [brief(fromOf(load))] },
    { name: "bytes", label: "Bytes", cell: (load) => known("bytes", load.bytes, "B") },
    { name: "start", label: "Start", cell: (load) => [figure("start", load.start, "us")] },
    { name: "time", label: "Time", cell: (load) => [figure("time", load.time, "us")] },
];
const known = (name, value, unit) => (value === undefined ? [] : [figure(name, value, unit)]);

const rowElements = new Map();
let grid;
let gridBody;
// The position in the list of the row that takes the focus.
let focused = 0;

function outcomeText(load) {
    return make("span", { class: `outcome ${load.outcome}` }, load.error ? brief(load.error.code) : load.outcome);
}

function urlCell(load) {
    const text = visible(load.url);
    // The scheme is left out, and the host is shortened.
    const [, host, path] = /^[a-z]+:\/\/([^/?#]*)(.*)$/is.exec(text) ?? [null, "", text];
    const children = withThumbnail.length > 0 ? [thumbnailBox(load)] : [];
    if (host) children.push(make("span", { class: "host" }, shortened(host, 40)));
    // The last part of the path is shortened last.
    const short = shortened(path || "/", 160);
    const cut = short.lastIndexOf("/", short.length - 2) + 1;
    children.push(make("bdi", { class: "path" }, make("span", { class: "before" }, short.slice(0, cut)),
        make("span", { class: "last" }, short.slice(cut))));
    const others = othersOf(load);
    if (others > 0) {
        children.push(make("span", { class: "with" }, "shared with ", figure("others", others)));
    }
    return children;
}

function makeGrid() {
    grid = byId("grid");
    const cells = COLUMNS.map(({ name, label }) => make("div", {
        role: "columnheader", class: `cell ${name}`, "data-sort": name,
    }, make("button", { type: "button", click: () => sortBy(name) }, label)));
    cells.push(make("div", { role: "columnheader", class: "cell time-area" }, make("span", { id: "window" })));
    const head = make("div", { class: "row head", role: "row", "aria-rowindex": "1" }, ...cells);
    gridBody = make("div", { class: "rows", role: "rowgroup" });
    grid.append(make("div", { role: "rowgroup", class: "heads" }, head), gridBody);
    grid.setAttribute("aria-colcount", String(COLUMNS.length + 1));
    grid.addEventListener("scroll", onNextFrame(showRows), { passive: true });
    gridBody.addEventListener("click", (event) => {
        const row = event.target.closest(".row");
        if (!row || hasDragged) return;
        focusRow(Number(row.dataset.place));
        choose(loads[row.dataset.load]);
    });
    gridBody.addEventListener("keydown", keyInRows);
    gridBody.addEventListener("focusin", (event) => {
        const row = event.target.closest(".row");
        if (!row) return;
        setFocused(Number(row.dataset.place));
        if (view.chosen) choose(loads[row.dataset.load]);
    });
    gridBody.addEventListener("pointermove", showTip);
    gridBody.addEventListener("pointerleave", hideTip);
    timeByPointer(gridBody, (event) => event.clientX >= timeBox().left);
}

// Returns the box of the time axis on the screen.
function timeBox() {
    return grid.querySelector(".head .time-area").getBoundingClientRect();
}

const headHeight = () => grid.querySelector(".heads").offsetHeight;

function showRows() {
    const rows = view.rows;
    const height = grid.clientHeight - headHeight();
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW_HEIGHT) - 6);
    const last = Math.min(rows.length, Math.ceil((grid.scrollTop + height) / ROW_HEIGHT) + 6);
    const wanted = new Set();
    for (let place = first; place < last; place += 1) wanted.add(place);
    if (focused < rows.length) wanted.add(focused);
    for (const [place, element] of rowElements) {
        if (wanted.has(place) && Number(element.dataset.load) === rows[place]?.index) continue;
        element.remove();
        rowElements.delete(place);
    }
    const width = timeBox().width;
    const added = [];
    for (const place of [...wanted].sort((one, other) => one - other)) {
        if (rowElements.has(place)) continue;
        const element = makeRow(place, rows[place]);
        rowElements.set(place, element);
        added.push(element);
        drawBar(element.lastChild.firstChild, rows[place], width, ROW_HEIGHT - 1);
    }
    if (added.length > 0) {
        gridBody.append(...added);
        // Screen readers read the rows in document order.
        if (!gridBody.contains(document.activeElement)) {
            gridBody.append(...[...rowElements].sort((one, other) => one[0] - other[0]).map(([, element]) => element));
        }
    }
    const lines = ticks(view.from, view.to, width / 90).times.map((time) => xOf(time, width));
    gridBody.style.setProperty("--lines", lines.length === 0 ? "none" : lines.map((x) =>
        `linear-gradient(90deg, transparent ${x}px, var(--line) ${x}px ${x + 1}px, transparent ${x + 1}px)`).join(","));
}

function makeRow(place, load) {
    const cells = COLUMNS.map(({ name, cell }) =>
        make("div", { role: "gridcell", class: `cell ${name}` }, ...cell(load)));
    const bar = make("div", { role: "gridcell", class: "cell time-area" }, make("canvas", { "aria-hidden": "true" }));
    const row = make("div", {
        role: "row", class: "row", "aria-rowindex": place + 2, "data-place": place, "data-load": load.index,
        tabindex: place === focused ? "0" : "-1", "aria-selected": String(load === view.chosen),
    }, ...cells, bar);
    row.style.top = `${place * ROW_HEIGHT}px`;
    if (place % 2 === 1) row.classList.add("odd");
    return row;
}

function drawBars() {
    const width = timeBox().width;
    for (const [place, element] of rowElements) {
        drawBar(element.lastChild.firstChild, view.rows[place], width, ROW_HEIGHT - 1);
    }
    byId("window").textContent = view.to - view.from >= whole ? "The whole run"
        : `${timeText(Math.round(view.from))} – ${timeText(Math.round(view.to))}`;
}

function listChanged() {
    for (const element of rowElements.values()) element.remove();
    rowElements.clear();
    setFocused(Math.max(0, view.rows.indexOf(view.chosen)));
    gridBody.style.height = `${view.rows.length * ROW_HEIGHT}px`;
    grid.setAttribute("aria-rowcount", String(view.rows.length + 1));
    grid.dataset.sort = view.sort;
    grid.dataset.order = view.descending ? "descending" : "ascending";
    grid.dataset.rows = String(view.rows.length);
    for (const cell of grid.querySelectorAll("[role=columnheader][data-sort]")) {
        if (cell.dataset.sort === view.sort) cell.setAttribute("aria-sort", grid.dataset.order);
        else cell.removeAttribute("aria-sort");
    }
    if (view.rows.length > 0) scrollTo(focused);
    byId("none").hidden = view.rows.length > 0;
    showRows();
}

function setFocused(place) {
    rowElements.get(focused)?.setAttribute("tabindex", "-1");
    focused = place;
    rowElements.get(focused)?.setAttribute("tabindex", "0");
}

function scrollTo(place) {
    const [top, height] = [place * ROW_HEIGHT, grid.clientHeight - headHeight()];
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + ROW_HEIGHT > grid.scrollTop + height) grid.scrollTop = top + ROW_HEIGHT - height;
}

function focusRow(place) {
    const target = Math.min(view.rows.length - 1, Math.max(0, place));
    if (target < 0) return;
    setFocused(target);
    scrollTo(target);
    showRows();
    rowElements.get(target).focus({ preventScroll: true });
}

// Shows a load in the list. If it is filtered out, the filters are reset.
function goTo(load) {
    if (!view.rows.includes(load)) showAll();
    choose(load);
    focusRow(view.rows.indexOf(load));
}

function showTip(event) {
    const row = event.target.closest(".row");
    const box = timeBox();
    if (!row || event.clientX < box.left || event.buttons !== 0) return hideTip();
    const load = loads[row.dataset.load];
    const time = timeOf(event.clientX - box.left, box.width);
    const near = ((view.to - view.from) / box.width) * 4;
    const lines = load.marks.filter(({ at }) => Math.abs(at - time) < near * 1.5)
        .map((mark) => make("div", {}, ...markLine(mark)));
    for (const span of load.spans) {
        if (time < span.start - near || time > span.start + span.time + near) continue;
        lines.push(make("div", {}, make("i", { class: "dot", "data-stage": span.stage }), ...spanLine(span)));
        if (lines.length > 5) break;
    }
    if (lines.length === 0) return hideTip();
    const tip = byId("tip");
    tip.replaceChildren(...lines);
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(window.innerWidth - tip.offsetWidth - 8, event.clientX + 12))}px`;
    const isRoom = event.clientY + 16 + tip.offsetHeight <= window.innerHeight;
    tip.style.top = `${isRoom ? event.clientY + 16 : event.clientY - tip.offsetHeight - 10}px`;
}

function hideTip() {
    byId("tip").hidden = true;
}
