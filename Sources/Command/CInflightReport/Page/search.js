// Filters: words, outcomes, sources.

function makeChips() {
    const chip = (chosen, of, value, name) => {
        const button = make("button", {
            type: "button", class: `chip ${value}`, "aria-pressed": "false", "data-value": value,
            click: () => {
                if (chosen.has(value)) chosen.delete(value);
                else chosen.add(value);
                button.setAttribute("aria-pressed", String(chosen.has(value)));
                listRows();
            },
        }, brief(value), " ", figure(name, loads.filter((load) => of(load) === value).length));
        return button;
    };
    for (const name of outcomes.filter((name) => loads.some((load) => load.outcome === name))) {
        byId("outcomes").append(chip(view.outcomes, (load) => load.outcome, name, `listed.${name}`));
    }
    for (const name of sources) byId("sources").append(chip(view.sources, fromOf, name, `listed.from.${name}`));
}

function makeSearch() {
    const field = byId("search");
    const search = onNextFrame(() => {
        view.words = wordsOf(field.value);
        listRows();
    });
    field.addEventListener("input", search);
    field.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && field.value !== "") {
            event.preventDefault();
            searchFor("");
        } else if (event.key === "ArrowDown" || event.key === "Enter") {
            event.preventDefault();
            focusRow(0);
        }
    });
    byId("reset").addEventListener("click", () => {
        showAll();
        field.focus();
    });
}

function searchFor(text) {
    byId("search").value = text;
    view.words = wordsOf(text);
    listRows();
    if (text) byId("loads").scrollIntoView({ block: "start" });
}

function showAll() {
    view.outcomes.clear();
    view.sources.clear();
    for (const chip of document.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", "false");
    searchFor("");
}

// Screen readers announce the count a moment after the last change, so that they do not interrupt typing.
let announcement;

function announce() {
    const shown = byId("shown");
    shown.replaceChildren(figure("shown", view.rows.length), " of ", figure("listed", loads.length));
    clearTimeout(announcement);
    announcement = setTimeout(() => {
        byId("live").textContent = `${grouped(view.rows.length)} of ${plural(loads.length, "load")}, by `
            + `${SORTS[view.sort].name.toLowerCase()}${view.descending ? ", descending" : ""}`;
    }, 250);
}
