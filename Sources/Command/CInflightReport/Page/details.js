// All that is known of the chosen load.

const stageName = (index) => STAGE_NAMES[stages[index]] ?? stages[index];
const markName = (index) => MARK_NAMES[markKinds[index]] ?? markKinds[index];

function spanLine(index) {
    const parts = [`${stageName(spans.stage[index])}: `, figure("span.time", spans.length[index], "us")];
    const job = spans.job[index];
    if (job >= 0 && jobs.waiters[job] > 1) parts.push(", shared with ", figure("span.others", jobs.waiters[job] - 1));
    return parts;
}

function markLine(index) {
    const why = visible(textAt(marks.why[index]));
    return [`${markName(marks.kind[index])}${why ? `: ${why}` : ""} at `, figure("mark.at", marks.at[index], "us")];
}

// Names for what has no word of its own, such as bytes that never came.
function facts(load) {
    const failure = failureOf(load);
    const size = loads.width[load] >= 0
        ? [figure("width", loads.width[load]), " × ", figure("height", loads.height[load])] : null;
    const rows = [
        ["Outcome", [outcomeText(load)]],
        ["Why", failure && [visible(failure[2])]],
        ["At", failure && [visible(failure[1])]],
        ["Status", loads.status[load] >= 0 && [figure("status", loads.status[load])]],
        ["From", fromOf(load) && [visible(fromOf(load))]],
        ["Bytes", loads.bytes[load] >= 0 && [figure("bytes", loads.bytes[load], "B")]],
        ["Picture", (size || loads.format[load] >= 0) && [`${visible(textAt(loads.format[load]))} `, ...(size ?? [])]],
        ["File", loads.file[load] >= 0 && [make("bdi", {}, visible(textAt(loads.file[load])))]],
        ["Began", [figure("start", loads.start[load], "us")]],
        ["Ended", [figure("end", endOf(load), "us")]],
        ["Took", [figure("time", loads.length[load], "us")]],
    ];
    return make("dl", { class: "facts" }, ...rows.filter(([, value]) => value)
        .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...value)]));
}

const MOST_SHARERS = 6;

// Who else waited for a piece of work, and what that was.
function sharers(load, job, others) {
    const those = loadsOf(job).filter((other) => other !== load);
    const buttons = those.slice(0, MOST_SHARERS).map((other) =>
        make("button", { type: "button", class: "link", click: () => goTo(other) }, "#",
            figure("span.other", loads.id[other])));
    const subject = visible(textAt(jobs.subject[job]));
    return [make("span", { title: `${jobKinds[jobs.kind[job]]}: ${subject}` }, figure("span.others", others),
        others === 1 ? " other " : " others "), ...buttons.flatMap((button) => [button, " "]),
        those.length > MOST_SHARERS ? "…" : ""];
}

function spanTable(load) {
    const rows = [];
    const length = Math.max(1, loads.length[load]);
    for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
        const job = spans.job[index];
        const bar = make("i", { "data-stage": stages[spans.stage[index]] });
        bar.style.marginLeft = `${Math.max(0, ((spans.start[index] - loads.start[load]) / length) * 100)}%`;
        bar.style.width = `${Math.max(0.5, (spans.length[index] / length) * 100)}%`;
        const others = job >= 0 ? jobs.waiters[job] - 1 : 0;
        rows.push(make("tr", { "data-span": stages[spans.stage[index]] },
            make("th", { scope: "row" }, make("i", { class: "dot", "data-stage": stages[spans.stage[index]] }),
                stageName(spans.stage[index])),
            make("td", {}, figure("span.start", spans.start[index] - loads.start[load], "us")),
            make("td", {}, figure("span.time", spans.length[index], "us")),
            make("td", { class: "part", "aria-hidden": "true" }, bar),
            make("td", { class: "sharers" }, ...(others > 0 ? sharers(load, job, others) : []))));
    }
    if (rows.length === 0) return make("p", { class: "quiet" }, "What it waited for was not recorded.");
    const heads = ["Stage", "After", "Took", "", "Shared with"].map((text) => make("th", { scope: "col" }, text));
    return make("table", { class: "spans" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
}

function showDetails() {
    const box = byId("details");
    for (const element of rowElements.values()) {
        element.setAttribute("aria-selected", String(Number(element.dataset.load) === view.chosen));
    }
    const load = view.chosen;
    box.hidden = load < 0;
    if (load < 0) return;
    const items = [];
    for (let index = loads.marks[load]; index < loads.marks[load + 1]; index += 1) {
        items.push(make("li", { "data-mark": markKinds[marks.kind[index]] }, ...markLine(index)));
    }
    const close = make("button", { type: "button", class: "close", "aria-label": "Close", click: closeDetails }, "×");
    box.dataset.load = String(loads.id[load]);
    box.replaceChildren(
        make("div", { class: "subject" },
            thumbnails.has(load) ? thumbnailBox(load) : null,
            make("bdi", { class: "url" }, visible(urlOf(load))),
            make("button", { type: "button", click: () => showTime(loads.start[load] - loads.length[load] * 0.05,
                endOf(load) + Math.max(1, loads.length[load] * 0.05)) }, "Zoom to it"), close),
        facts(load), spanTable(load),
        items.length > 0 ? make("ul", { class: "marks" }, ...items) : "");
}

function closeDetails() {
    const place = view.rows.indexOf(view.chosen);
    choose(-1);
    if (place >= 0) focusRow(place);
}
