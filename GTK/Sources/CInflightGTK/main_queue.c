#include "CInflightGTK.h"

#include <stdint.h>
#include <unistd.h>

// libdispatch's hooks for other run loops, which CoreFoundation also uses: a descriptor that is readable while the main
// queue has work, and a function that runs the work.
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *_Nullable message);

typedef struct {
    GSource source;
    gpointer tag;
} MainQueueSource;

static guint64 served;

static gboolean check(GSource *source) {
    MainQueueSource *self = (MainQueueSource *)source;
    return (g_source_query_unix_fd(source, self->tag) & G_IO_IN) != 0;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source;
    (void)callback;
    (void)data;
    // Reset the descriptor before the work runs, so that work that is enqueued meanwhile makes it readable again.
    uint64_t count;
    ssize_t taken = read(_dispatch_get_main_queue_handle_4CF(), &count, sizeof count);
    (void)taken;
    served += 1;
    inflight_work_begin();
    _dispatch_main_queue_callback_4CF(NULL);
    inflight_work_end();
    return G_SOURCE_CONTINUE;
}

void inflight_main_queue_attach(void) {
    static gboolean isAttached = FALSE;
    if (isAttached) return;
    isAttached = TRUE;
    static GSourceFuncs functions = {.check = check, .dispatch = dispatch};
    GSource *source = g_source_new(&functions, sizeof(MainQueueSource));
    g_source_set_name(source, "the main queue");
    // The priority of events, which is above that of drawing.
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_can_recurse(source, FALSE);
    ((MainQueueSource *)source)->tag = g_source_add_unix_fd(source, _dispatch_get_main_queue_handle_4CF(), G_IO_IN);
    g_source_attach(source, NULL);
    g_source_unref(source);
}

guint64 inflight_main_queue_served(void) { return served; }
