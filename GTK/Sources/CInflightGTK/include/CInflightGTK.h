// Wrappers of the parts of GTK that Swift cannot use, or not well: variadic functions, subclasses, macros.
#pragma once

#include <gtk/gtk.h>

#pragma clang assume_nonnull begin

// MARK: The main queue

/// Makes the GLib loop of the default context serve the main dispatch queue. Calls after the first do nothing. Call it
/// on the main thread.
void inflight_main_queue_attach(void);

/// Returns the number of times that the loop has served the main queue. It does not grow while the program is idle.
guint64 inflight_main_queue_served(void);

// MARK: Work on the main thread

/// The time spent between `inflight_work_begin` and `inflight_work_end`, in nanoseconds: elapsed time, and CPU time.
typedef struct {
    gint64 elapsed, processor;
} InflightWork;

/// Enables or disables counting. While disabled, each begin and end costs one comparison. Call these functions on the
/// main thread.
void inflight_work_count(gboolean counts);
/// Begin and end a span of this library's work. Spans may be nested; only the outermost counts.
void inflight_work_begin(void);
void inflight_work_end(void);
/// Returns the work since the last call.
InflightWork inflight_work_take(void);

// MARK: Signals

/// Calls `handler(data)` at every emission, without the signal's parameters, and `release(data)` once after the handler
/// is disconnected or the object is disposed of.
gulong inflight_connect(
    gpointer object, const char *signal, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data));

/// Like `inflight_connect`, for the signals of a GtkSignalListItemFactory. Passes the list item to the handler.
gulong inflight_connect_item(
    GtkListItemFactory *factory, const char *signal, void (*handler)(GtkListItem *item, gpointer data), gpointer data,
    void (*release)(gpointer data));

// MARK: The paintable of a remote image

/// A GdkPaintable that draws one remote image. Use it on the main thread.
typedef struct _InflightPaintable InflightPaintable;
GType inflight_paintable_get_type(void);

/// How an image is scaled to the available size.
typedef enum : int {
    INFLIGHT_FIT_CONTAIN,
    INFLIGHT_FIT_COVER,
    INFLIGHT_FIT_FILL,
} InflightFit;

/// Creates a paintable that draws nothing. The caller owns the reference.
InflightPaintable *inflight_paintable_new(void);

/// Sets the intrinsic size, which GTK's layout uses; 0 if unknown.
void inflight_paintable_set_size(InflightPaintable *self, int width, int height);
void inflight_paintable_set_fit(InflightPaintable *self, InflightFit fit);

/// Sets the handler of changes of the drawn size. It is called from an idle source after the frame that had the new
/// size. `release(data)` is called when the handler is replaced or the paintable is disposed of.
void inflight_paintable_on_room(
    InflightPaintable *self, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data));

/// Sets the placeholder, which is drawn while there is no image: a colour, and a texture over it.
void inflight_paintable_set_placeholder(
    InflightPaintable *self, const GdkRGBA *_Nullable color, GdkTexture *_Nullable texture);

/// Removes the image, the failure symbol and the activity, and sets the placeholder.
void inflight_paintable_reset(InflightPaintable *self, const GdkRGBA *_Nullable color, GdkTexture *_Nullable texture);

/// Sets the image. If `fade` is below 1, it is blended with the placeholder.
void inflight_paintable_set_image(InflightPaintable *self, GdkTexture *_Nullable image, double fade);

/// Sets the progress indicator: an arc that starts at `angle`, in degrees, and covers `fraction` (0 to 1) of the
/// circle, or a quarter of it if `fraction` is negative. If `angle` is negative, none is drawn.
void inflight_paintable_set_activity(InflightPaintable *self, double angle, double fraction);

/// Sets the symbol of a failed load, which is drawn in the middle; NULL for none.
void inflight_paintable_set_failure(InflightPaintable *self, GdkPaintable *_Nullable symbol);

GdkTexture *_Nullable inflight_paintable_get_image(InflightPaintable *self);

// MARK: Textures

/// Creates a texture of pixels that are not copied. `release(owner)` is called on any thread once the texture does not
/// need them.
GdkTexture *inflight_texture_new(
    int width, int height, GdkMemoryFormat format, const void *pixels, gsize byteCount, gsize bytesPerRow,
    gpointer owner, void (*release)(gpointer owner));

/// Return the number of live paintables, and the number of textures whose pixels are not released.
guint inflight_live_paintables(void);
guint inflight_live_textures(void);

// MARK: Macros and variadic functions

/// Returns the nearest scrolled window that contains the widget.
GtkWidget *_Nullable inflight_scrolled_window_above(GtkWidget *widget);
/// Sets the text that screen readers read for the image.
void inflight_set_description(GtkWidget *widget, const char *_Nullable description);
/// Returns whether the desktop's animations are enabled.
gboolean inflight_animations_are_on(GtkWidget *widget);

/// Sets whether the program prefers the dark variant of the theme.
void inflight_set_dark(gboolean isDark);

#pragma clang assume_nonnull end
