// What is looked at: which loads, in which order, and which part of the time. All that is drawn listens to it.

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
    // Loads as they are listed.
    rows: [],
    // What is seen of the time, in microseconds.
    from: 0,
    to: Math.max(1, run.duration),
    // A load.
    chosen: null,
    // The stage that is seen alone.
    stage: null,
    listeners: [],
    changed(what) {
        for (const listener of this.listeners) listener(what);
    },
};

const whole = Math.max(1, run.duration);
// No closer than this: a pixel is then about a tenth of a microsecond.
const NEAREST = 100;

// What a search looks through; made when it is asked for first.
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

// Words that all have to be found; `-word` must not be; `status:404` is that field, exactly.
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
        // What is not known comes last, whatever the direction; equals stay as they were asked for.
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

// Times that are fit for marks on an axis: at most as many as there is room for.
function ticks(from, to, most) {
    const rough = (to - from) / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough));
    const times = [];
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) times.push(Math.round(time));
    return { step, times };
}

// As exact as the step: 1.250 s where marks are 50 ms apart.
function tickText(time, step) {
    const digits = Math.floor(Math.log10(step));
    if (step >= 1e6 || time === 0) return time >= 120e6 ? timeText(time) : `${time / 1e6} s`;
    if (step >= 1e3 || time % 1e3 === 0) {
        return time < 1e6 ? `${time / 1e3} ms` : `${(time / 1e6).toFixed(Math.max(0, 6 - digits))} s`;
    }
    return time < 1e6 ? `${(time / 1e3).toFixed(3 - digits)} ms` : `${(time / 1e6).toFixed(6)} s`;
}
