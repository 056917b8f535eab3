// What is known of the run: columns of numbers, and each text once.

const run = JSON.parse(byId("run").textContent);
const stages = run.names.stages;
const outcomes = run.names.outcomes;
const markKinds = run.names.marks;
const jobKinds = run.names.jobs;

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUE_OF = new Uint8Array(128);
for (let index = 0; index < 64; index += 1) VALUE_OF[DIGITS.charCodeAt(index)] = index;

// A column: five bits a digit, the least first, the sixth says that more follow. The lowest bit is the sign.
function numbers(text) {
    const values = [];
    let [value, scale] = [0, 1];
    for (let index = 0; index < text.length; index += 1) {
        const digit = VALUE_OF[text.charCodeAt(index)];
        value += (digit & 31) * scale;
        scale *= 32;
        if (digit < 32) {
            values.push(value % 2 === 0 ? value / 2 : -(value + 1) / 2);
            [value, scale] = [0, 1];
        }
    }
    return values;
}

// A column of differences, each to the one before.
function sums(text) {
    const values = numbers(text);
    for (let index = 1; index < values.length; index += 1) values[index] += values[index - 1];
    return values;
}

// Each text begins as one of those before it does.
const texts = (() => {
    const [back, shared] = [numbers(run.texts.back), numbers(run.texts.shared)];
    const whole = [];
    run.texts.rests.forEach((rest, index) => {
        whole.push(shared[index] === 0 ? rest : whole[index - back[index]].slice(0, shared[index]) + rest);
    });
    return whole;
})();

const textAt = (index) => (index < 0 ? "" : texts[index]);

function ends(counts) {
    const result = [0];
    for (const count of counts) result.push(result[result.length - 1] + count);
    return result;
}

const jobs = {
    kind: numbers(run.jobs.kind),
    // -1 where nobody shared it.
    subject: numbers(run.jobs.subject),
    start: sums(run.jobs.start),
    length: numbers(run.jobs.length),
    waiters: numbers(run.jobs.waiters),
};

const loads = (() => {
    const columns = run.loads;
    const start = sums(columns.start);
    const length = numbers(columns.length);
    return {
        count: start.length,
        id: sums(columns.id),
        url: sums(columns.url),
        outcome: numbers(columns.outcome),
        from: numbers(columns.from),
        start,
        length,
        // -1: not known.
        bytes: numbers(columns.bytes),
        status: numbers(columns.status),
        format: numbers(columns.format),
        width: numbers(columns.width),
        height: numbers(columns.height),
        file: numbers(columns.file),
        error: numbers(columns.error),
        // Where the spans and marks of each begin; one more for the end of the last.
        spans: ends(numbers(columns.spans)),
        marks: ends(numbers(columns.marks)),
    };
})();

const spans = (() => {
    const stage = numbers(run.spans.stage);
    const gap = numbers(run.spans.gap);
    const length = numbers(run.spans.length);
    const job = numbers(run.spans.job);
    const start = new Array(stage.length);
    let lastJob = 0;
    for (let load = 0; load < loads.count; load += 1) {
        let before = loads.start[load];
        for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
            start[index] = before + gap[index];
            before = start[index] + length[index];
            // 0: no job. Others are one more than the difference to the last one, or as much less than it.
            if (job[index] === 0) {
                job[index] = -1;
            } else {
                lastJob += job[index] > 0 ? job[index] - 1 : job[index];
                job[index] = lastJob;
            }
        }
    }
    return { stage, start, length, job };
})();

const marks = (() => {
    const at = numbers(run.marks.at);
    for (let load = 0; load < loads.count; load += 1) {
        for (let index = loads.marks[load]; index < loads.marks[load + 1]; index += 1) at[index] += loads.start[load];
    }
    return { kind: numbers(run.marks.kind), at, why: numbers(run.marks.why) };
})();

const lanes = run.lanes.map((lane) => ({
    name: texts[lane.name],
    limit: lane.limit,
    at: sums(lane.at),
    running: numbers(lane.running),
    waiting: numbers(lane.waiting),
}));

const received = { at: sums(run.bytes.at), bytes: sums(run.bytes.bytes) };

// Small pictures, as `data:` URLs, by their loads.
const thumbnails = (() => {
    const which = sums(run.thumbnails.numbers);
    return new Map(sums(run.thumbnails.loads).map((load, index) => [load, run.thumbnails.pictures[which[index]]]));
})();

const endOf = (load) => loads.start[load] + loads.length[load];
const urlOf = (load) => textAt(loads.url[load]);
const fromOf = (load) => textAt(loads.from[load]);
// As it is shown in few letters.
const brief = (text) => shortened(visible(text), 40);

const failures = (() => {
    const [codes, places, messages] = [run.failures.code, run.failures.stage, run.failures.message].map(numbers);
    return codes.map((code, index) => [code, places[index], messages[index]].map(textAt));
})();
// Code, stage and message.
const failureOf = (load) => (loads.error[load] < 0 ? null : failures[loads.error[load]]);

// Whether a picture came of it.
const hasPicture = (load) => loads.width[load] >= 0 && loads.error[load] < 0;

// The small picture of a load in a box of its own, which is there, empty, where there is none.
function thumbnailBox(load, options = { loading: "lazy", decoding: "async" }) {
    const picture = thumbnails.get(load);
    return make("span", { class: "thumbnail" }, picture
        ? make("img", { src: picture, alt: `Small picture of ${shortened(nameOf(load), 60)}`, ...options }) : null);
}

// The last part of a URL's path, which says most.
function nameOf(load) {
    const text = visible(urlOf(load));
    return /([^/?#]+)\/*(?:[?#].*)?$/s.exec(text)?.[1] ?? text;
}

// How many others had a part of the same work.
function othersOf(load) {
    let most = 0;
    for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
        if (spans.job[index] >= 0) most = Math.max(most, jobs.waiters[spans.job[index]] - 1);
    }
    return most;
}

// Which loads had a part in each piece of work; made when it is asked for first.
let loadsOfJobs;

function loadsOf(job) {
    if (!loadsOfJobs) {
        loadsOfJobs = new Map();
        for (let load = 0; load < loads.count; load += 1) {
            for (let index = loads.spans[load]; index < loads.spans[load + 1]; index += 1) {
                const those = loadsOfJobs.get(spans.job[index]) ?? new Set();
                loadsOfJobs.set(spans.job[index], those.add(load));
            }
        }
    }
    return [...(loadsOfJobs.get(job) ?? [])];
}
