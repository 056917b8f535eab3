// Histograms: a bar for each range, a line for each percentile.

const HISTOGRAM_NAMES = { total: "Whole load", bodies: "Size of a body", ...STAGE_NAMES };
const PERCENTILES = ["p50", "p90", "p95", "p99"];

function showHistograms() {
    const box = byId("histograms");
    box.hidden = run.histograms.length === 0;
    box.append(make("h2", { id: "histograms-title" }, "How they are spread"),
        make("div", { class: "spread" }, ...run.histograms.map(histogramFigure)));
}

function histogramFigure(histogram, number) {
    const unit = histogram.unit === "us" ? "us" : "B";
    const text = TEXT_OF[unit];
    const { name, buckets } = histogram;
    const title = Object.hasOwn(HISTOGRAM_NAMES, name) ? HISTOGRAM_NAMES[name] : brief(name);
    const uppers = buckets.map(([upper]) => upper);
    const counts = buckets.map(([, count]) => count);
    const [width, height, floor] = [360, 120, 100];
    const most = Math.max(1, ...counts);
    const step = width / Math.max(1, uppers.length);
    const picture = drawing("svg", {
        viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `${title}: a bar for each range`,
    });
    counts.forEach((count, index) => {
        const high = count === 0 ? 0 : Math.max(1.5, (count / most) * (floor - 18));
        const bar = drawing("rect", {
            x: index * step + step * 0.06, y: floor - high, width: step * 0.88, height: high, class: "bucket",
            "data-upper": uppers[index], "data-count": count,
        }, drawing("title"));
        bar.firstChild.textContent = `${grouped(count)} up to ${text(uppers[index])}`;
        picture.append(bar);
    });
    picture.append(drawing("line", { x1: 0, x2: width, y1: floor, y2: floor, class: "floor" }));
    // Labels about six ranges.
    const every = Math.max(1, Math.ceil(uppers.length / 6));
    uppers.forEach((upper, index) => {
        if (index % every !== every - 1 && uppers.length > 6) return;
        const x = Math.min(width - 2, (index + 1) * step);
        const label = drawing("text", { x, y: floor + 14, "text-anchor": "end" });
        label.textContent = text(upper);
        picture.append(label);
    });
    const place = (value) => {
        const index = uppers.findIndex((upper) => value <= upper);
        if (index < 0) return width;
        const below = index === 0 ? 0 : uppers[index - 1];
        return (index + (value - below) / Math.max(1, uppers[index] - below)) * step;
    };
    PERCENTILES.forEach((name, index) => {
        const x = place(histogram[name]);
        picture.append(drawing("line", { x1: x, x2: x, y1: 4 + index * 3, y2: floor, class: `percentile ${name}` }));
    });
    const values = PERCENTILES.map((name) => make("span", { class: `value ${name}` }, make("b", {}, name), " ",
        figure(`histogram.${number}.${name}`, histogram[name], unit)));
    return make("figure", { class: "histogram", "data-name": name },
        make("figcaption", {}, make("strong", {}, title), " ",
            make("span", { class: "quiet" }, "of ", figure(`histogram.${number}.count`, histogram.count))),
        picture, make("p", { class: "values" }, ...values));
}
