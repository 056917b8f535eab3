// Builds the page. Later, only what has changed is drawn again.

const drawTimeSoon = onNextFrame(() => {
    drawTimeline();
    drawBars();
    showRows();
});

view.listeners.push((what) => {
    if (what === "rows") {
        listChanged();
        announce();
    } else if (what === "chosen") {
        showDetails();
    } else {
        if (what === "colours") paintLegend();
        drawTimeSoon();
    }
});

readColours();
showTotals();
makeGrid();
makeTimeline();
makeChips();
makeSearch();
makeKeys();
drawLegend();
paintLegend();
listRows();
drawTimeline();
drawBars();
showSlowest();
showFailures();
showHistograms();
showPictures();
showNotes();
printWell();

new ResizeObserver(onNextFrame(() => {
    const bar = grid.offsetWidth - grid.clientWidth;
    byId("loads").style.setProperty("--bar", `${bar}px`);
    drawTimeSoon();
})).observe(grid);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", coloursChanged);
document.documentElement.dataset.ready = "true";
