// The state of the page: the listed loads, their order, and the visible time. All drawings listen to it.

const SORTS = {
    id: { name: "Number", of: (load) => load.id },
    url: { name: "URL", of: (load) => load.url },
    outcome: { name: "Outcome", of: (load) => outcomes.indexOf(load.outcome) },
    status: { name: "Status", of: (load) => load.status },
    from: { name: "From", of: fromOf },
    format: { name: "Format", of: (load) => load.format },
    bytes: { name: "Bytes", of: (load) => load.bytes },
    start: { name: "Start", of: (load) => load.start },
    time: { name: "Time", of: (load) => load.time },
};

const view = {
    words: [],
    outcomes: new Set(),
    sources: new Set(),
    sort: "id",
    descending: false,
    // The loads in the order of the list.
    rows: [],
    // The visible time, in microseconds.
    from: 0,
    to: Math.max(1, run.duration),
    // The load in the details.
    chosen: null,
    // The highlighted stage.
    stage: null,
    listeners: [],
    changed(what) {
        for (const listener of this.listeners) listener(what);
    },
};

const whole = Math.max(1, run.duration);
// The shortest visible time, in microseconds.
const NEAREST = 100;

// Returns the text that a search looks through, computed on first use.
function haystack(load) {
    load.haystack ??= [
        load.url, load.outcome, load.from, load.format, load.status, load.file, visible(load.url),
        ...load.marks.flatMap(({ kind, why }) => [kind, why]), ...Object.values(load.error ?? {}),
    ].join("\n").toLowerCase();
    return load.haystack;
}

const FIELDS = {
    id: (load) => load.id,
    outcome: (load) => load.outcome,
    from: fromOf,
    format: (load) => load.format ?? "",
    status: (load) => load.status ?? "",
    code: (load) => load.error?.code ?? "",
    stage: (load) => load.error?.stage ?? "",
};

// Returns the conditions of a search: all words must match; `-word` must not; `status:404` matches a field exactly.
function wordsOf(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
        const isNot = word.length > 1 && word.startsWith("-");
        const plain = isNot ? word.slice(1) : word;
        const [, field, value] = /^([a-z]+):(.+)$/.exec(plain) ?? [];
        if (field && Object.hasOwn(FIELDS, field)) {
            return (load) => (String(FIELDS[field](load)).toLowerCase() === value) !== isNot;
        }
        return (load) => haystack(load).includes(plain) !== isNot;
    });
}

function listRows() {
    const value = SORTS[view.sort].of;
    const isMissing = (one) => one === undefined || one === "";
    const sign = view.descending ? -1 : 1;
    view.rows = loads.filter((load) => (view.outcomes.size === 0 || view.outcomes.has(load.outcome))
        && (view.sources.size === 0 || view.sources.has(fromOf(load)))
        && view.words.every((matches) => matches(load)));
    view.rows.sort((left, right) => {
        const [one, other] = [value(left), value(right)];
        // Absent values come last in both directions; equal loads stay in the order of the list.
        if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
        return one < other ? -sign : one > other ? sign : 0;
    });
    view.changed("rows");
}

function sortBy(name, descending) {
    view.descending = descending ?? (view.sort === name ? !view.descending : name === "time" || name === "bytes");
    view.sort = name;
    listRows();
}

function showTime(from, to) {
    const length = Math.min(whole, Math.max(NEAREST, to - from));
    view.from = Math.min(Math.max(0, from), whole - length);
    view.to = view.from + length;
    view.changed("time");
}

function zoom(factor, around = (view.from + view.to) / 2) {
    const length = Math.min(whole, Math.max(Math.min(whole, NEAREST), (view.to - view.from) * factor));
    const share = (around - view.from) / (view.to - view.from);
    showTime(around - length * share, around + length * (1 - share));
}

function pan(share) {
    const by = (view.to - view.from) * share;
    const from = Math.min(Math.max(0, view.from + by), whole - (view.to - view.from));
    showTime(from, from + (view.to - view.from));
}

function choose(load) {
    if (view.chosen === load) return;
    view.chosen = load;
    view.changed("chosen");
}

// Returns at most `most` round times for an axis.
function ticks(from, to, most) {
    const rough = (to - from) / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough));
    const times = [];
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) times.push(Math.round(time));
    return { step, times };
}

// Returns a time with the precision of the step: 1.250 s if ticks are 50 ms apart.
function tickText(time, step) {
    const digits = Math.floor(Math.log10(step));
    if (step >= 1e6 || time === 0) return time >= 120e6 ? timeText(time) : `${time / 1e6} s`;
    if (step >= 1e3 || time % 1e3 === 0) {
        return time < 1e6 ? `${time / 1e3} ms` : `${(time / 1e6).toFixed(Math.max(0, 6 - digits))} s`;
    }
    return time < 1e6 ? `${(time / 1e3).toFixed(3 - digits)} ms` : `${(time / 1e6).toFixed(6)} s`;
}
