#include "CInflightReport.h"

// Clang accepts `#embed` in every C mode, but warns before C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char body[] = {
#embed "Page/body.html"
};

static const char style[] = {
#embed "Page/style.css"
    ,
#embed "Page/grid.css"
    ,
#embed "Page/print.css"
};

// The order matters: top-level code of a part uses the parts before it.
static const char script[] = {
#embed "Page/text.js"
    ,
#embed "Page/data.js"
    ,
#embed "Page/colours.js"
    ,
#embed "Page/view.js"
    ,
#embed "Page/bars.js"
    ,
#embed "Page/timeline.js"
    ,
#embed "Page/rows.js"
    ,
#embed "Page/details.js"
    ,
#embed "Page/summary.js"
    ,
#embed "Page/histograms.js"
    ,
#embed "Page/search.js"
    ,
#embed "Page/keys.js"
    ,
#embed "Page/print.js"
    ,
#embed "Page/start.js"
};

const char *inflight_report_body(size_t *count) {
    *count = sizeof body;
    return body;
}

const char *inflight_report_style(size_t *count) {
    *count = sizeof style;
    return style;
}

const char *inflight_report_script(size_t *count) {
    *count = sizeof script;
    return script;
}
