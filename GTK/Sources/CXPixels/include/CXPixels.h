// The pixels that the X server has of a window, which are what is seen: not what the program meant to draw.
#pragma once

#include "CXClient.h"

#include <gtk/gtk.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Whether the display is an X server.
gboolean x_pixels_are_there(GtkWidget *widget);

/// Copies a window's pixels, BGRX, rows without a gap, once the server has drawn what it was told so far.
/// Gives the number of pixels in a row, or 0 where the window is smaller than that, or there is none.
int x_pixels_read(GtkWidget *window, uint8_t *pixels, int width, int height);

/// Where the window's own content begins on its surface.
void x_pixels_origin(GtkWidget *window, double *x, double *y);

#pragma clang assume_nonnull end
