// Another program's window, from outside: what the X server shows of it, and a keyboard and a pointer for it.
#pragma once

#include <glib.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// A connection of its own with the X server, for one window. Used on one thread.
typedef struct XClient XClient;

/// Connects with the display that the environment names; none where there is no such display, or it cannot be asked for
/// its keyboard (XTEST) and for when frames are whole (SYNC).
XClient *_Nullable x_client_open(void);
void x_client_close(XClient *self);

/// Takes the window of a process, once it is seen and counts its frames, and gives it the keyboard.
/// Gives FALSE as long as there is none.
gboolean x_client_take_window(XClient *self, int process);

/// Waits until the window has drawn a frame that nobody has waited for, at most so long.
/// Gives FALSE where none came, or the window has gone.
gboolean x_client_wait_for_frame(XClient *self, int milliseconds);

typedef enum : int {
    X_CLIENT_GONE,
    /// A frame began meanwhile: parts of two may have been read.
    X_CLIENT_TORN,
    X_CLIENT_WHOLE,
} XClientRead;

/// Copies the window's pixels, BGRX, rows without a gap, and says whether they are those of one frame: GTK counts a
/// counter of the server's up before the first drawing of a frame and behind the last (to an odd number, to an even
/// one), in the same stream of requests. What was read between two looks at the same even number is one whole frame.
/// - pixels: made with g_malloc, at least as large as the window.
XClientRead x_client_read(XClient *self, uint8_t *_Nullable *_Nonnull pixels, int *width, int *height, int64_t *frame);

void x_client_resize(XClient *self, int width, int height);
/// Presses and lets go of a key, with Control held where that is said. `name`: as X calls it, "Page_Down".
void x_client_key(XClient *self, const char *name, gboolean control);
/// Moves the pointer, from the window's top left.
void x_client_move(XClient *self, int x, int y);
/// Presses a button of the pointer, or lets go of it. 1 is the first, 4 and 5 turn the wheel up and down.
void x_client_button(XClient *self, int button, gboolean pressed);
/// Asks the window to close, as a window manager does.
void x_client_ask_to_close(XClient *self);

#pragma clang assume_nonnull end
