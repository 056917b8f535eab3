// Totals, the slowest, what failed and why, and the pictures.

const MOST_SLOWEST = 12;
const MOST_EXAMPLES = 3;

function showTotals() {
    const totals = run.totals;
    const items = [["Loads", [figure("total.loads", totals.loads)], ""]];
    for (const name of outcomes) {
        if (totals.outcomes[name] > 0 || name === "ok" || name === "failed") {
            items.push([name === "ok" ? "OK" : name, [figure(`total.${name}`, totals.outcomes[name])], name]);
        }
    }
    items.push(["Took", [figure("total.duration", run.duration, "us")], ""]);
    items.push(["Bodies", [figure("total.bytes", totals.bytes, "B")], ""]);
    if (received.at.length > 0) {
        items.push(["From the network", [figure("total.received", received.bytes.at(-1), "B")], ""]);
    }
    for (const [name, count] of Object.entries(totals.jobs)) {
        if (count > 0) items.push([`${name} jobs`, [figure(`total.jobs.${name}`, count)], ""]);
    }
    for (const [name, count] of Object.entries(totals.marks)) {
        if (count > 0 && name !== "cancelled" && name !== "failed") {
            items.push([MARK_NAMES[name] ?? name, [figure(`total.marks.${name}`, count)], ""]);
        }
    }
    const list = items.map(([name, value, kind]) =>
        make("div", { class: `total ${kind}` }, make("dt", {}, name), make("dd", {}, ...value)));
    byId("totals").append(make("dl", {}, ...list));
    byId("command").textContent = visible(run.command);
    const began = new Date(run.startedAt);
    byId("when").append(make("time", { datetime: run.startedAt, title: run.startedAt },
        Number.isNaN(began.getTime()) ? visible(run.startedAt)
            : `${run.startedAt.slice(0, 19).replace("T", " ")} UTC`));
    document.title = `Inflight: ${plural(totals.loads, "load")}, ${run.startedAt}`;
}

const urlButton = (load, length) => make("button", {
    type: "button", class: "link", "data-load": loads.id[load], title: visible(urlOf(load)).slice(0, 500),
    click: () => goTo(load),
}, make("bdi", {}, shortened(visible(urlOf(load)), length)));

function showSlowest() {
    const order = Array.from({ length: loads.count }, (_, load) => load)
        .sort((one, other) => loads.length[other] - loads.length[one] || one - other).slice(0, MOST_SLOWEST);
    const most = Math.max(1, loads.length[order[0]] ?? 1);
    const items = order.map((load) => {
        const parts = [];
        for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
            const part = make("i", { "data-stage": stages[spans.stage[index]] });
            part.style.left = `${((spans.start[index] - loads.start[load]) / most) * 100}%`;
            part.style.width = `${(spans.length[index] / most) * 100}%`;
            parts.push(part);
        }
        const all = make("b", {});
        all.style.width = `${(loads.length[load] / most) * 100}%`;
        return make("li", {}, urlButton(load, 70), figure("slow.time", loads.length[load], "us"),
            make("span", { class: "strip", "aria-hidden": "true" }, all, ...parts));
    });
    byId("slowest").append(make("h2", { id: "slowest-title" }, "Slowest"),
        items.length > 0 ? make("ol", { class: "slow" }, ...items)
            : make("p", { class: "quiet" }, "Nothing was asked for."));
}

// Those of one code and status fail for one reason, whatever the message says beside it.
function failureGroups() {
    const groups = new Map();
    for (let load = 0; load < loads.count; load += 1) {
        const failure = failureOf(load);
        if (!failure) continue;
        const status = failure[0] === "badStatus" ? loads.status[load] : -1;
        const key = `${failure[0]}\n${status}`;
        if (!groups.has(key)) groups.set(key, { code: failure[0], status, message: failure[2], loads: [] });
        groups.get(key).loads.push(load);
    }
    return [...groups.values()].sort((one, other) => other.loads.length - one.loads.length);
}

function showFailures() {
    const groups = failureGroups();
    const box = byId("failures");
    box.append(make("h2", { id: "failures-title" }, "What failed, and why"));
    if (groups.length === 0) {
        box.append(make("p", { class: "quiet" }, "Nothing failed."));
        return;
    }
    box.append(make("ul", { class: "groups" }, ...groups.map(({ code, status, message, loads: those }) => {
        const name = brief(code) + (status >= 0 ? ` ${status}` : "");
        const query = `code:${code}${status >= 0 ? ` status:${status}` : ""}`;
        return make("li", { "data-code": code, "data-status": status >= 0 ? status : "" },
            make("div", { class: "reason" }, figure("failure.count", those.length), " × ",
                make("strong", {}, name),
                make("button", { type: "button", class: "small", click: () => searchFor(query) }, "Show")),
            make("p", {}, visible(message)),
            make("ul", {}, ...those.slice(0, MOST_EXAMPLES).map((load) => make("li", {}, urlButton(load, 80)))));
    })));
}

const MOST_PICTURES = 240;

function showPictures() {
    const box = byId("pictures");
    box.hidden = thumbnails.size === 0;
    const frame = make("div", { class: "pictures" });
    const show = (count) => frame.replaceChildren(...[...thumbnails.keys()].slice(0, count).map((load) =>
        make("button", {
            type: "button", title: visible(urlOf(load)).slice(0, 500), "data-load": loads.id[load],
            click: () => goTo(load),
        }, thumbnailBox(load))));
    show(MOST_PICTURES);
    box.append(make("h2", { id: "pictures-title" }, "Pictures"));
    const count = loads.width.reduce((sum, _, load) => sum + hasPicture(load), 0);
    if (count > thumbnails.size) {
        box.append(make("p", { class: "quiet" }, "Small pictures of ", figure("thumbnails.kept", thumbnails.size),
            " of ", figure("thumbnails.of", count), " loads that gave one: of the first, as far as they were decoded or"
            + " are decoded quickly, and as many as this page has room for."));
    }
    box.append(frame);
    if (thumbnails.size > MOST_PICTURES) {
        const more = make("button", { type: "button", click: () => { show(Infinity); more.remove(); } },
            `Show all ${grouped(thumbnails.size)}`);
        box.append(more);
    }
}

// Where there were more loads than a record keeps.
function leftOutNote() {
    if (run.totals.loads <= loads.count) return null;
    return make("p", { class: "notice left-out" }, "Listed are ", figure("listed", loads.count), " of ",
        figure("total.loads", run.totals.loads), " loads: the first, the last, and the slowest of those between; ",
        figure("left-out", run.totals.loads - loads.count), " are left out. Totals and histograms are those of all.");
}

function showNotes() {
    const notes = [];
    const leftOut = leftOutNote();
    if (leftOut) document.querySelector("#loads .bar").after(leftOut);
    if (run.dropped > 0) {
        notes.push(make("span", { class: "notice" }, figure("dropped", run.dropped),
            " events were left out because there were too many to keep."));
    }
    notes.push("Times are measured since the run began. A number shows its exact value when it is pointed at.");
    byId("notes").append(...notes.flatMap((note) => [note, " "]));
}
