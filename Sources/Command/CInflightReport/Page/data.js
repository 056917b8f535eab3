// What is known of the run. Of a long one, the loads are a sample.

const run = JSON.parse(byId("run").textContent);
const { stages, lanes } = run;
const outcomes = Object.keys(run.totals.outcomes);
const markKinds = Object.keys(run.totals.marks);

const loads = run.loads.map((load, index) => ({
    ...load,
    index,
    end: load.start + load.time,
    // A job is there where several loads had a part in it.
    spans: load.spans.map(([stage, start, time, job]) => ({ stage, start, time, job: run.jobs[job] })),
    marks: load.marks.map(([kind, at, why]) => ({ kind, at, why })),
}));
// Small pictures, as `data:` URLs, each with the loads that it is of.
for (const [image, ...those] of run.thumbnails) {
    for (const index of those) loads[index].thumbnail = image;
}
const withThumbnail = loads.filter((load) => load.thumbnail);

const fromOf = (load) => load.from ?? "";
const sources = [...new Set(loads.map(fromOf))].filter(Boolean).sort();
// As it is shown in few letters.
const brief = (text) => shortened(visible(text), 40);

// The small picture of a load in a box of its own, which is there, empty, where there is none.
function thumbnailBox(load, options = { loading: "lazy", decoding: "async" }) {
    return make("span", { class: "thumbnail" }, load.thumbnail
        ? make("img", { src: load.thumbnail, alt: `Small picture of ${shortened(nameOf(load), 60)}`, ...options })
        : null);
}

// The last part of a URL's path, which says most.
function nameOf(load) {
    const text = visible(load.url);
    return /([^/?#]+)\/*(?:[?#].*)?$/s.exec(text)?.[1] ?? text;
}

// How many others had a part of the same work.
const othersOf = (load) => Math.max(0, ...load.spans.map(({ job }) => (job ? job.waiters - 1 : 0)));

// Which loads had a part in a piece of work.
const loadsOf = (job) => loads.filter((load) => load.spans.some((span) => span.job === job));
