// The details of the chosen load.

function spanLine({ stage, time, job }) {
    const parts = [`${stageName(stage)}: `, figure("span.time", time, "us")];
    if (job) parts.push(", shared with ", figure("span.others", job.waiters - 1));
    return parts;
}

function markLine({ kind, at, why }) {
    return [`${markName(kind)}${why ? `: ${visible(why)}` : ""} at `, figure("mark.at", at, "us")];
}

// Returns the fields of a load with their names, without absent ones.
function facts(load) {
    const size = load.width >= 0 ? [figure("width", load.width), " × ", figure("height", load.height)] : null;
    const rows = [
        ["Outcome", [outcomeText(load)]],
        ["Why", load.error && [visible(load.error.message)]],
        ["At", load.error && [visible(load.error.stage)]],
        ["Status", load.status >= 0 && [figure("status", load.status)]],
        ["From", load.from && [visible(load.from)]],
        ["Bytes", load.bytes >= 0 && [figure("bytes", load.bytes, "B")]],
        ["Picture", (size || load.format !== undefined) && [`${visible(load.format ?? "")} `, ...(size ?? [])]],
        ["File", load.file !== undefined && [make("bdi", {}, visible(load.file))]],
        ["Began", [figure("start", load.start, "us")]],
        ["Ended", [figure("end", load.end, "us")]],
        ["Took", [figure("time", load.time, "us")]],
    ];
    return make("dl", { class: "facts" }, ...rows.filter(([, value]) => value)
        .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...value)]));
}

const MOST_SHARERS = 6;

// Returns links to the other loads of a shared job.
function sharers(load, job) {
    const those = loadsOf(job).filter((other) => other !== load);
    const buttons = those.slice(0, MOST_SHARERS).map((other) =>
        make("button", { type: "button", class: "link", click: () => goTo(other) }, "#",
            figure("span.other", other.id)));
    const others = job.waiters - 1;
    return [make("span", { title: `${job.kind}: ${visible(job.subject)}` }, figure("span.others", others),
        others === 1 ? " other " : " others "), ...buttons.flatMap((button) => [button, " "]),
        those.length > MOST_SHARERS ? "…" : ""];
}

function spanTable(load) {
    const length = Math.max(1, load.time);
    const rows = load.spans.map(({ stage, start, time, job }) => {
        const bar = make("i", { "data-stage": stage });
        bar.style.marginLeft = `${Math.max(0, ((start - load.start) / length) * 100)}%`;
        bar.style.width = `${Math.max(0.5, (time / length) * 100)}%`;
        return make("tr", { "data-span": stage },
            make("th", { scope: "row" }, make("i", { class: "dot", "data-stage": stage }), stageName(stage)),
            make("td", {}, figure("span.start", start - load.start, "us")),
            make("td", {}, figure("span.time", time, "us")),
            make("td", { class: "part", "aria-hidden": "true" }, bar),
            make("td", { class: "sharers" }, ...(job ? sharers(load, job) : [])));
    });
    if (rows.length === 0) return make("p", { class: "quiet" }, "What it waited for was not recorded.");
    const heads = ["Stage", "After", "Took", "", "Shared with"].map((text) => make("th", { scope: "col" }, text));
    return make("table", { class: "spans" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
}

function showDetails() {
    const box = byId("details");
    for (const element of rowElements.values()) {
        element.setAttribute("aria-selected", String(Number(element.dataset.load) === view.chosen?.index));
    }
    const load = view.chosen;
    box.hidden = !load;
    if (!load) return;
    const items = load.marks.map((mark) => make("li", { "data-mark": mark.kind }, ...markLine(mark)));
    const close = make("button", { type: "button", class: "close", "aria-label": "Close", click: closeDetails }, "×");
    box.dataset.load = String(load.id);
    box.replaceChildren(
        make("div", { class: "subject" },
            load.thumbnail ? thumbnailBox(load) : null,
            make("bdi", { class: "url" }, visible(load.url)),
            make("button", { type: "button", click: () => zoomTo(load) }, "Zoom to it"), close),
        facts(load), spanTable(load),
        items.length > 0 ? make("ul", { class: "marks" }, ...items) : "");
}

function closeDetails() {
    const place = view.rows.indexOf(view.chosen);
    choose(null);
    if (place >= 0) focusRow(place);
}
