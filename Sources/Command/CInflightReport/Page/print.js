// The printed page: the loads as a table with bars, as they are sorted and filtered.

const MOST_PRINTED = 200;

function makePrinted() {
    const rows = view.rows.slice(0, MOST_PRINTED).map((load) => {
        const bar = drawing("svg", { viewBox: "0 0 200 10", preserveAspectRatio: "none" });
        const part = (start, length, high, attributes) => bar.append(drawing("rect", {
            x: (start / whole) * 200, width: Math.max(0.6, (length / whole) * 200), y: 5 - high / 2, height: high,
            ...attributes,
        }));
        part(load.start, load.time, load.spans.length === 0 ? 6 : 1, { class: "all" });
        for (const { stage, start, time } of load.spans) {
            part(start, time, WAITING.has(stage) ? 3 : 8, { "data-stage": stage });
        }
        return make("tr", {}, make("td", {}, figure("id", load.id)),
            // Printing does not wait for lazy images.
            make("td", {}, load.thumbnail ? thumbnailBox(load, { decoding: "sync" }) : null,
                make("bdi", {}, shortened(visible(load.url).replace(/^https?:\/\//, ""), 72)),
                load.error ? make("div", { class: "why" },
                    `${brief(load.error.code)}: ${shortened(visible(load.error.message), 160)}`) : null),
            make("td", {}, load.outcome), make("td", {}, ...known("status", load.status)),
            make("td", {}, brief(fromOf(load))), make("td", {}, ...known("bytes", load.bytes, "B")),
            make("td", {}, figure("start", load.start, "us")), make("td", {}, figure("time", load.time, "us")),
            make("td", { class: "drawn" }, bar));
    });
    const heads = ["#", "URL", "Outcome", "Status", "From", "Bytes", "Start", "Time", ""];
    const key = usedStages().map((stage) =>
        make("span", {}, make("i", { class: "dot", "data-stage": stage }), stageName(stage)));
    const more = view.rows.length - rows.length;
    byId("printed").replaceChildren(make("h2", {}, "Loads"),
        make("p", { class: "quiet" }, figure("printed", rows.length), " of ", figure("listed", loads.length),
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
