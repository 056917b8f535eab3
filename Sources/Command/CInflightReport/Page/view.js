// What is looked at: which loads, in which order, and which part of the time. All that is drawn listens to it.

const SORTS = {
    id: { name: "Number", of: (load) => loads.id[load] },
    url: { name: "URL", of: urlOf },
    outcome: { name: "Outcome", of: (load) => loads.outcome[load] },
    status: { name: "Status", of: (load) => loads.status[load] },
    from: { name: "From", of: fromOf },
    format: { name: "Format", of: (load) => textAt(loads.format[load]) },
    bytes: { name: "Bytes", of: (load) => loads.bytes[load] },
    start: { name: "Start", of: (load) => loads.start[load] },
    time: { name: "Time", of: (load) => loads.length[load] },
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
    // A load, or -1.
    chosen: -1,
    // The stage that is seen alone, or -1.
    stage: -1,
    listeners: [],
    changed(what) {
        for (const listener of this.listeners) listener(what);
    },
};

const whole = Math.max(1, run.duration);
// No closer than this: a pixel is then about a tenth of a microsecond.
const NEAREST = 100;

const haystacks = new Array(loads.count);

function haystack(load) {
    if (haystacks[load] === undefined) {
        const parts = [urlOf(load), outcomes[loads.outcome[load]], fromOf(load), textAt(loads.format[load])];
        if (loads.status[load] >= 0) parts.push(String(loads.status[load]));
        if (loads.file[load] >= 0) parts.push(textAt(loads.file[load]));
        for (let index = loads.marks[load]; index < loads.marks[load + 1]; index += 1) {
            parts.push(markKinds[marks.kind[index]], textAt(marks.why[index]));
        }
        const failure = failureOf(load);
        if (failure) parts.push(...failure);
        haystacks[load] = `${parts.join("\n")}\n${visible(urlOf(load))}`.toLowerCase();
    }
    return haystacks[load];
}

const FIELDS = {
    id: (load) => loads.id[load],
    outcome: (load) => outcomes[loads.outcome[load]],
    from: fromOf,
    format: (load) => textAt(loads.format[load]),
    status: (load) => loads.status[load],
    code: (load) => failureOf(load)?.[0] ?? "",
    stage: (load) => failureOf(load)?.[1] ?? "",
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
    const rows = [];
    for (let load = 0; load < loads.count; load += 1) {
        if (view.outcomes.size > 0 && !view.outcomes.has(loads.outcome[load])) continue;
        if (view.sources.size > 0 && !view.sources.has(loads.from[load])) continue;
        if (view.words.every((matches) => matches(load))) rows.push(load);
    }
    const values = new Array(loads.count);
    const value = SORTS[view.sort].of;
    for (const load of rows) values[load] = value(load);
    const isMissing = (one) => one === -1 || one === "";
    const sign = view.descending ? -1 : 1;
    rows.sort((left, right) => {
        const [one, other] = [values[left], values[right]];
        // What is not known comes last, whatever the direction; equals stay as they were asked for.
        if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other) || left - right;
        return (one < other ? -sign : one > other ? sign : 0) || left - right;
    });
    view.rows = rows;
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
