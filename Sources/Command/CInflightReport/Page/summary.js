// Totals, the slowest loads, failures by reason, and thumbnails.

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
    if (run.bytes.length > 0) {
        items.push(["From the network", [figure("total.received", run.bytes.at(-1)[1], "B")], ""]);
    }
    for (const [name, count] of Object.entries(totals.jobs)) {
        if (count > 0) items.push([`${name} jobs`, [figure(`total.jobs.${name}`, count)], ""]);
    }
    for (const [name, count] of Object.entries(totals.marks)) {
        if (count > 0 && name !== "cancelled" && name !== "failed") {
            items.push([markName(name), [figure(`total.marks.${name}`, count)], ""]);
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
    type: "button", class: "link", "data-load": load.id, title: visible(load.url).slice(0, 500),
    click: () => goTo(load),
}, make("bdi", {}, shortened(visible(load.url), length)));

function showSlowest() {
    const order = [...loads].sort((one, other) => other.time - one.time).slice(0, MOST_SLOWEST);
    const most = Math.max(1, order[0]?.time ?? 1);
    const items = order.map((load) => {
        const parts = load.spans.map(({ stage, start, time }) => {
            const part = make("i", { "data-stage": stage });
            part.style.left = `${((start - load.start) / most) * 100}%`;
            part.style.width = `${(time / most) * 100}%`;
            return part;
        });
        const all = make("b", {});
        all.style.width = `${(load.time / most) * 100}%`;
        return make("li", {}, urlButton(load, 70), figure("slow.time", load.time, "us"),
            make("span", { class: "strip", "aria-hidden": "true" }, all, ...parts));
    });
    byId("slowest").append(make("h2", { id: "slowest-title" }, "Slowest"),
        items.length > 0 ? make("ol", { class: "slow" }, ...items)
            : make("p", { class: "quiet" }, "Nothing was asked for."));
}

// Failures with one code and status are one reason, whatever their messages say.
function showFailures() {
    const groups = [...run.totals.failures].sort((one, other) => other.count - one.count);
    const box = byId("failures");
    box.append(make("h2", { id: "failures-title" }, "What failed, and why"));
    if (groups.length === 0) {
        box.append(make("p", { class: "quiet" }, "Nothing failed."));
        return;
    }
    box.append(make("ul", { class: "groups" }, ...groups.map(({ code, status, message, count }) => {
        const those = loads.filter(({ error, status: own }) => error?.code === code && own === (status ?? own));
        const name = brief(code) + (status >= 0 ? ` ${status}` : "");
        const query = `code:${code}${status >= 0 ? ` status:${status}` : ""}`;
        return make("li", { "data-code": code, "data-status": status ?? "" },
            make("div", { class: "reason" }, figure("failure.count", count), " × ", make("strong", {}, name),
                those.length > 0
                    ? make("button", { type: "button", class: "small", click: () => searchFor(query) }, "Show") : null),
            make("p", {}, visible(message)),
            make("ul", {}, ...those.slice(0, MOST_EXAMPLES).map((load) => make("li", {}, urlButton(load, 80)))));
    })));
}

const MOST_PICTURES = 240;

function showPictures() {
    const box = byId("pictures");
    box.hidden = withThumbnail.length === 0;
    const frame = make("div", { class: "pictures" });
    const show = (count) => frame.replaceChildren(...withThumbnail.slice(0, count).map((load) =>
        make("button", {
            type: "button", title: visible(load.url).slice(0, 500), "data-load": load.id,
            click: () => goTo(load),
        }, thumbnailBox(load))));
    show(MOST_PICTURES);
    box.append(make("h2", { id: "pictures-title" }, "Pictures"));
    if (run.totals.images > withThumbnail.length) {
        box.append(make("p", { class: "quiet" }, "Small pictures of ", figure("thumbnails.kept", withThumbnail.length),
            " of ", figure("thumbnails.of", run.totals.images), " loads that gave one: of the first, as far as they"
            + " were decoded or are decoded quickly, and as many as this page has room for."));
    }
    box.append(frame);
    if (withThumbnail.length > MOST_PICTURES) {
        const more = make("button", { type: "button", click: () => { show(Infinity); more.remove(); } },
            `Show all ${grouped(withThumbnail.length)}`);
        box.append(more);
    }
}

// Returns a note if not all loads are listed.
function leftOutNote() {
    if (run.totals.loads <= loads.length) return null;
    return make("p", { class: "notice left-out" }, "Listed are ", figure("listed", loads.length), " of ",
        figure("total.loads", run.totals.loads), " loads: the first, the last, and the slowest of those between; ",
        figure("left-out", run.totals.loads - loads.length),
        " are left out. Totals, failures, charts and histograms are those of all.");
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
