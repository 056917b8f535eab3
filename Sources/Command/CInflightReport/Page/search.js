// What is listed: words, outcomes, sources.

function makeChips() {
    const count = (column, value) => column.reduce((sum, one) => sum + (one === value), 0);
    const chip = (chosen, value, name, label, number) => {
        const button = make("button", {
            type: "button", class: `chip ${label}`, "aria-pressed": "false", "data-value": label,
            click: () => {
                if (chosen.has(value)) chosen.delete(value);
                else chosen.add(value);
                button.setAttribute("aria-pressed", String(chosen.has(value)));
                listRows();
            },
        }, brief(label), " ", figure(name, number));
        return button;
    };
    outcomes.forEach((name, value) => {
        const number = count(loads.outcome, value);
        if (number > 0) byId("outcomes").append(chip(view.outcomes, value, `listed.${name}`, name, number));
    });
    for (const name of run.names.from) {
        const value = texts.indexOf(name);
        byId("sources").append(chip(view.sources, value, `listed.from.${name}`, name, count(loads.from, value)));
    }
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

// Said aloud a moment after the last change, so that typing is not talked over.
let announcement;

function announce() {
    const shown = byId("shown");
    shown.replaceChildren(figure("shown", view.rows.length), " of ", figure("listed", loads.count));
    clearTimeout(announcement);
    announcement = setTimeout(() => {
        byId("live").textContent = `${grouped(view.rows.length)} of ${plural(loads.count, "load")}, by `
            + `${SORTS[view.sort].name.toLowerCase()}${view.descending ? ", descending" : ""}`;
    }, 250);
}
