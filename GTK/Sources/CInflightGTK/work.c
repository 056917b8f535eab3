#include "CInflightGTK.h"

#include <time.h>

// Used on the main thread only.
static gboolean isCounting;
static guint depth;
static InflightWork began, done;

static gint64 now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (gint64)time.tv_sec * 1000000000 + time.tv_nsec;
}

void inflight_work_count(gboolean counts) {
    isCounting = counts;
    depth = 0;
    done = (InflightWork){0, 0};
}

void inflight_work_begin(void) {
    if (!isCounting) return;
    if (depth++ > 0) return;
    began = (InflightWork){now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID)};
}

void inflight_work_end(void) {
    // Counting may have been enabled since the matching begin.
    if (!isCounting || depth == 0) return;
    if (--depth > 0) return;
    done.processor += now(CLOCK_THREAD_CPUTIME_ID) - began.processor;
    done.elapsed += now(CLOCK_MONOTONIC) - began.elapsed;
}

InflightWork inflight_work_take(void) {
    InflightWork taken = done;
    done = (InflightWork){0, 0};
    return taken;
}
