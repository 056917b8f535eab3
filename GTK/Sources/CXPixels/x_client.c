#include "CXClient.h"

#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/extensions/XTest.h>
#include <X11/extensions/sync.h>
#include <X11/keysym.h>
#include <poll.h>
#include <string.h>

struct XClient {
    Display *display;
    Window window;
    XSyncCounter counter;
    XSyncAlarm alarm;
    int sync_events;
    XErrorHandler others;
};

/// The open client, whose X errors are ignored: another program's window may disappear at any time, and the result of
/// each request shows whether it failed.
static XClient *current;

static int on_error(Display *display, XErrorEvent *error) {
    if (current && current->display == display) return 0;
    return current && current->others ? current->others(display, error) : 0;
}

XClient *x_client_open(void) {
    Display *display = current ? NULL : XOpenDisplay(NULL);
    if (!display) return NULL;
    int events, errors, major, minor;
    if (!XSyncQueryExtension(display, &events, &errors) || !XSyncInitialize(display, &major, &minor)
        || !XTestQueryExtension(display, &major, &minor, &major, &minor)) {
        XCloseDisplay(display);
        return NULL;
    }
    XClient *self = g_new0(XClient, 1);
    self->display = display;
    self->sync_events = events;
    current = self;
    self->others = XSetErrorHandler(on_error);
    return self;
}

void x_client_close(XClient *self) {
    XCloseDisplay(self->display);
    XSetErrorHandler(self->others);
    current = NULL;
    g_free(self);
}

// MARK: The window

/// Reads the numbers in a property of a window, at most two. Returns how many there are.
static unsigned long numbers(XClient *self, Window window, const char *name, unsigned long *found) {
    Atom type;
    int format;
    unsigned long count = 0, left;
    unsigned char *data = NULL;
    XGetWindowProperty(
        self->display, window, XInternAtom(self->display, name, False), 0, 2, False, XA_CARDINAL, &type, &format, &count,
        &left, &data);
    if (data && format == 32) memcpy(found, data, count * sizeof(long));
    if (data) XFree(data);
    return data && format == 32 ? count : 0;
}

static int64_t now(XClient *self) {
    XSyncValue value;
    if (!XSyncQueryCounter(self->display, self->counter, &value)) return -1;
    return (int64_t)XSyncValueHigh32(value) << 32 | XSyncValueLow32(value);
}

static void watch(XClient *self) {
    XSyncAlarmAttributes wanted = {
        .trigger = {.counter = self->counter, .value_type = XSyncRelative, .test_type = XSyncPositiveComparison},
        .events = True,
    };
    XSyncIntToValue(&wanted.trigger.wait_value, 1);
    XSyncIntToValue(&wanted.delta, 1);
    self->alarm = XSyncCreateAlarm(
        self->display, XSyncCACounter | XSyncCAValueType | XSyncCAValue | XSyncCATestType | XSyncCADelta | XSyncCAEvents,
        &wanted);
}

gboolean x_client_take_window(XClient *self, int process) {
    Window root, parent, *children = NULL;
    unsigned count = 0;
    if (!XQueryTree(self->display, DefaultRootWindow(self->display), &root, &parent, &children, &count)) return FALSE;
    for (unsigned at = 0; at < count && !self->window; at++) {
        unsigned long owner[2], counters[2];
        XWindowAttributes attributes;
        if (numbers(self, children[at], "_NET_WM_PID", owner) != 1 || (int)owner[0] != process) continue;
        // The second counter counts frames.
        if (numbers(self, children[at], "_NET_WM_SYNC_REQUEST_COUNTER", counters) != 2) continue;
        if (!XGetWindowAttributes(self->display, children[at], &attributes)) continue;
        if (attributes.map_state != IsViewable) continue;
        self->window = children[at];
        self->counter = counters[1];
    }
    if (children) XFree(children);
    if (!self->window) return FALSE;
    watch(self);
    XSetInputFocus(self->display, self->window, RevertToParent, CurrentTime);
    XFlush(self->display);
    return TRUE;
}

gboolean x_client_wait_for_frame(XClient *self, int milliseconds) {
    gint64 end = g_get_monotonic_time() + (gint64)milliseconds * 1000;
    XFlush(self->display);
    while (TRUE) {
        gboolean came = FALSE;
        while (XPending(self->display)) {
            XEvent event;
            XNextEvent(self->display, &event);
            if (event.type != self->sync_events + XSyncAlarmNotify) continue;
            XSyncAlarmNotifyEvent *alarm = (XSyncAlarmNotifyEvent *)&event;
            if (alarm->state != XSyncAlarmActive) return FALSE;
            came = came || XSyncValueLow32(alarm->counter_value) % 2 == 0;
        }
        if (came) return TRUE;
        gint64 left = (end - g_get_monotonic_time()) / 1000;
        struct pollfd watched = {.fd = ConnectionNumber(self->display), .events = POLLIN};
        if (left <= 0 || poll(&watched, 1, (int)left) == 0) return FALSE;
    }
}

XClientRead x_client_read(XClient *self, uint8_t **pixels, int *width, int *height, int64_t *frame) {
    XWindowAttributes attributes;
    int64_t before = now(self);
    if (before < 0 || !XGetWindowAttributes(self->display, self->window, &attributes)) return X_CLIENT_GONE;
    *width = attributes.width;
    *height = attributes.height;
    *frame = before;
    if (before % 2 != 0) return X_CLIENT_TORN;
    XImage *image = XGetImage(
        self->display, self->window, 0, 0, (unsigned)*width, (unsigned)*height, AllPlanes, ZPixmap);
    if (!image) return now(self) < 0 ? X_CLIENT_GONE : X_CLIENT_TORN;
    gboolean is_whole = image->bits_per_pixel == 32 && now(self) == before;
    if (is_whole) {
        size_t row = (size_t)*width * 4;
        *pixels = g_realloc(*pixels, row * (size_t)*height);
        for (int y = 0; y < *height; y++) memcpy(*pixels + (size_t)y * row, image->data + y * image->bytes_per_line, row);
    }
    XDestroyImage(image);
    return is_whole ? X_CLIENT_WHOLE : X_CLIENT_TORN;
}

void x_client_resize(XClient *self, int width, int height) {
    XResizeWindow(self->display, self->window, (unsigned)width, (unsigned)height);
    XFlush(self->display);
}

void x_client_ask_to_close(XClient *self) {
    XEvent event = {
        .xclient = {
            .type = ClientMessage,
            .window = self->window,
            .message_type = XInternAtom(self->display, "WM_PROTOCOLS", False),
            .format = 32,
        }};
    event.xclient.data.l[0] = (long)XInternAtom(self->display, "WM_DELETE_WINDOW", False);
    XSendEvent(self->display, self->window, False, NoEventMask, &event);
    XFlush(self->display);
}

// MARK: Input

void x_client_key(XClient *self, const char *name, gboolean control) {
    KeyCode key = XKeysymToKeycode(self->display, XStringToKeysym(name));
    KeyCode held = XKeysymToKeycode(self->display, XK_Control_L);
    if (control) XTestFakeKeyEvent(self->display, held, True, CurrentTime);
    XTestFakeKeyEvent(self->display, key, True, CurrentTime);
    XTestFakeKeyEvent(self->display, key, False, CurrentTime);
    if (control) XTestFakeKeyEvent(self->display, held, False, CurrentTime);
    XFlush(self->display);
}

void x_client_move(XClient *self, int x, int y) {
    Window child;
    int left = 0, top = 0;
    XTranslateCoordinates(
        self->display, self->window, DefaultRootWindow(self->display), 0, 0, &left, &top, &child);
    XTestFakeMotionEvent(self->display, -1, left + x, top + y, CurrentTime);
    XFlush(self->display);
}

void x_client_button(XClient *self, int button, gboolean pressed) {
    XTestFakeButtonEvent(self->display, (unsigned)button, pressed, CurrentTime);
    XFlush(self->display);
}
