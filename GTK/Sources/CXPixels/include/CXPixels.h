// Reads a window's pixels from the X server: the picture on the screen, whatever the program meant to draw.
#pragma once

#include "CXClient.h"

#include <gtk/gtk.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Returns whether the widget's display is an X server.
gboolean x_pixels_are_there(GtkWidget *widget);

/// Copies a window's pixels, as BGRX in rows without padding, after the server has processed all earlier requests.
/// Returns `width`, or 0 if the window is smaller than `width` × `height` or not visible.
int x_pixels_read(GtkWidget *window, uint8_t *pixels, int width, int height);

/// Stores the position of the window's content on its surface, inside of shadows.
void x_pixels_origin(GtkWidget *window, double *x, double *y);

#pragma clang assume_nonnull end
