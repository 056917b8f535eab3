// Drives another program's window: reads its pixels from the X server, and sends keyboard and pointer input.
#pragma once

#include <glib.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// A separate connection to the X server, for one window. Use it on one thread. Only one can be open at a time.
typedef struct XClient XClient;

/// Connects to the display that the environment names. Returns NULL if there is none, if it lacks the extensions XTEST
/// (for input) or SYNC (for frame counters), or if another client is open.
XClient *_Nullable x_client_open(void);
void x_client_close(XClient *self);

/// Finds the visible window of a process that has a frame counter, and gives it the keyboard focus. Returns FALSE if
/// there is none yet.
gboolean x_client_take_window(XClient *self, int process);

/// Waits until the window has drawn a frame since the last wait. Returns FALSE after the timeout, or if the window is
/// gone.
gboolean x_client_wait_for_frame(XClient *self, int milliseconds);

typedef enum : int {
    X_CLIENT_GONE,
    /// A frame was being drawn, so the pixels may belong to two frames, or the pixels could not be read.
    X_CLIENT_TORN,
    X_CLIENT_WHOLE,
} XClientRead;

/// Copies the window's pixels, as BGRX in rows without padding, if they are those of one frame.
///
/// GTK increments a counter of the X server before it draws a frame (to an odd number) and after it (to an even
/// number), in the same stream of requests. Pixels that are read while the counter stays at one even number are a
/// complete frame.
///
/// - pixels: a buffer of g_malloc, or NULL. It is reallocated to the size of the window.
/// - frame: the counter.
XClientRead x_client_read(XClient *self, uint8_t *_Nullable *_Nonnull pixels, int *width, int *height, int64_t *frame);

void x_client_resize(XClient *self, int width, int height);
/// Presses and releases a key, with Control held if `control`. `name` is X's name of the key, such as "Page_Down".
void x_client_key(XClient *self, const char *name, gboolean control);
/// Moves the pointer to a position relative to the window's top left corner.
void x_client_move(XClient *self, int x, int y);
/// Presses or releases a pointer button. 1 is the first; 4 and 5 turn the wheel up and down.
void x_client_button(XClient *self, int button, gboolean pressed);
/// Asks the window to close, like a window manager.
void x_client_ask_to_close(XClient *self);

#pragma clang assume_nonnull end
