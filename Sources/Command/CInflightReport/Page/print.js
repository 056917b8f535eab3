// On paper: the loads as a table, as they are sorted and filtered now, with their bars.

const MOST_PRINTED = 200;

function makePrinted() {
    const rows = view.rows.slice(0, MOST_PRINTED).map((load) => {
        const bar = drawing("svg", { viewBox: "0 0 200 10", preserveAspectRatio: "none" });
        const part = (start, length, high, attributes) => bar.append(drawing("rect", {
            x: (start / whole) * 200, width: Math.max(0.6, (length / whole) * 200), y: 5 - high / 2, height: high,
            ...attributes,
        }));
        const high = loads.spans[load] === loads.spans[load + 1] ? 6 : 1;
        part(loads.start[load], loads.length[load], high, { class: "all" });
        for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
            const name = stages[spans.stage[index]];
            part(spans.start[index], spans.length[index], WAITING.has(name) ? 3 : 8, { "data-stage": name });
        }
        const failure = failureOf(load);
        return make("tr", {}, make("td", {}, figure("id", loads.id[load])),
            // At once: paper does not wait for what is lazy.
            make("td", {}, thumbnails.has(load) ? thumbnailBox(load, { decoding: "sync" }) : null,
                make("bdi", {}, shortened(visible(urlOf(load)).replace(/^https?:\/\//, ""), 72)),
                failure ? make("div", { class: "why" }, `${brief(failure[0])}: ${shortened(visible(failure[2]), 160)}`)
                    : null),
            make("td", {}, outcomes[loads.outcome[load]]), make("td", {}, ...known("status", loads.status[load])),
            make("td", {}, brief(fromOf(load))), make("td", {}, ...known("bytes", loads.bytes[load], "B")),
            make("td", {}, figure("start", loads.start[load], "us")),
            make("td", {}, figure("time", loads.length[load], "us")),
            make("td", { class: "drawn" }, bar));
    });
    const heads = ["#", "URL", "Outcome", "Status", "From", "Bytes", "Start", "Time", ""];
    const used = new Set(spans.stage);
    const key = [...used].sort((one, other) => one - other).map((stage) =>
        make("span", {}, make("i", { class: "dot", "data-stage": stages[stage] }), stageName(stage)));
    const more = view.rows.length - rows.length;
    byId("printed").replaceChildren(make("h2", {}, "Loads"),
        make("p", { class: "quiet" }, figure("printed", rows.length), " of ", figure("listed", loads.count),
            `, by ${SORTS[view.sort].name.toLowerCase()}${view.descending ? ", descending" : ""}`,
            more > 0 ? ": sort or search before printing to choose others." : "."),
        leftOutNote() ?? "",
        make("p", { class: "key" }, ...key),
        make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", {}, text)))),
            make("tbody", {}, ...rows)));
}

function printWell() {
    window.addEventListener("beforeprint", makePrinted);
    window.addEventListener("afterprint", () => byId("printed").replaceChildren());
}
