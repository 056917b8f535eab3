// The data of the run. The loads of a long run are a sample.

const run = JSON.parse(byId("run").textContent);
const { stages, lanes } = run;
const outcomes = Object.keys(run.totals.outcomes);
const markKinds = Object.keys(run.totals.marks);

const loads = run.loads.map((load, index) => ({
    ...load,
    index,
    end: load.start + load.time,
    // Only shared jobs are in the page.
    spans: load.spans.map(([stage, start, time, job]) => ({ stage, start, time, job: run.jobs[job] })),
    marks: load.marks.map(([kind, at, why]) => ({ kind, at, why })),
}));
// Each thumbnail is a `data:` URL and the indices of its loads.
for (const [image, ...those] of run.thumbnails) {
    for (const index of those) loads[index].thumbnail = image;
}
const withThumbnail = loads.filter((load) => load.thumbnail);

const fromOf = (load) => load.from ?? "";
const sources = [...new Set(loads.map(fromOf))].filter(Boolean).sort();
// Returns a text as the list shows it.
const brief = (text) => shortened(visible(text), 40);

// Returns a box with the thumbnail of a load, empty if there is none.
function thumbnailBox(load, options = { loading: "lazy", decoding: "async" }) {
    return make("span", { class: "thumbnail" }, load.thumbnail
        ? make("img", { src: load.thumbnail, alt: `Small picture of ${shortened(nameOf(load), 60)}`, ...options })
        : null);
}

// Returns the last part of a URL's path.
function nameOf(load) {
    const text = visible(load.url);
    return /([^/?#]+)\/*(?:[?#].*)?$/s.exec(text)?.[1] ?? text;
}

// Returns the number of other loads that shared a job with this one.
const othersOf = (load) => Math.max(0, ...load.spans.map(({ job }) => (job ? job.waiters - 1 : 0)));

// Returns the listed loads that shared a job.
const loadsOf = (job) => loads.filter((load) => load.spans.some((span) => span.job === job));
