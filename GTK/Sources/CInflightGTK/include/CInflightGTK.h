// What of GTK cannot be reached, or not well, from Swift: variadic functions, classes, macros.
#pragma once

#include <gtk/gtk.h>

#pragma clang assume_nonnull begin

// MARK: The main queue

/// Has the GLib loop of the default context serve the main queue too. Only the first call does something.
/// Main thread.
void inflight_main_queue_attach(void);

/// How often the loop has served the main queue since the beginning: an idle program does so never.
guint64 inflight_main_queue_served(void);

// MARK: Work on the main thread

/// What was done between `inflight_work_begin` and `inflight_work_end`, in nanoseconds: of a clock, and of the
/// processor.
typedef struct {
    gint64 elapsed, processor;
} InflightWork;

/// Whether work is counted; it costs a comparison where it is not. Main thread, as all of these.
void inflight_work_count(gboolean counts);
/// Ours begins, and ends. May be nested: what is inside counts once.
void inflight_work_begin(void);
void inflight_work_end(void);
/// What was done since this was called last.
InflightWork inflight_work_take(void);

// MARK: Signals

/// Calls `handler(data)` at every emission, whatever its parameters, until the object goes, then `release(data)` once.
gulong inflight_connect(
    gpointer object, const char *signal, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data));

/// The same for the signals of a GtkSignalListItemFactory, which say which item they are about.
gulong inflight_connect_item(
    GtkListItemFactory *factory, const char *signal, void (*handler)(GtkListItem *item, gpointer data), gpointer data,
    void (*release)(gpointer data));

// MARK: What a remote image draws

/// A GdkPaintable: what one remote image shows. Used on the main thread.
typedef struct _InflightPaintable InflightPaintable;
GType inflight_paintable_get_type(void);

/// How a picture lies in the room that there is.
typedef enum : int {
    INFLIGHT_FIT_CONTAIN,
    INFLIGHT_FIT_COVER,
    INFLIGHT_FIT_FILL,
} InflightFit;

/// A new one, with one reference, which draws nothing.
InflightPaintable *inflight_paintable_new(void);

/// The size that it says it has, which layout goes by; 0 where that is not known.
void inflight_paintable_set_size(InflightPaintable *self, int width, int height);
void inflight_paintable_set_fit(InflightPaintable *self, InflightFit fit);

/// Has `handler(data)` called, once a frame is drawn, when the room that there is for drawing has become another.
void inflight_paintable_on_room(
    InflightPaintable *self, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data));

/// What is drawn as long as there is no picture: a colour, and a texture on it.
void inflight_paintable_set_placeholder(
    InflightPaintable *self, const GdkRGBA *_Nullable color, GdkTexture *_Nullable texture);

/// Back to the beginning: nothing but this placeholder is drawn, and drawn once.
void inflight_paintable_reset(InflightPaintable *self, const GdkRGBA *_Nullable color, GdkTexture *_Nullable texture);

/// The picture; with `fade` below 1 what was shown before is seen through it.
void inflight_paintable_set_picture(InflightPaintable *self, GdkTexture *_Nullable picture, double fade);

/// That something is under way: a turning arc at `angle` (degrees), of which `fraction` (0 to 1) is full; none where
/// the angle is negative, a quarter that turns where the fraction is.
void inflight_paintable_set_activity(InflightPaintable *self, double angle, double fraction);

/// That it has failed: drawn in the middle, over the placeholder.
void inflight_paintable_set_failure(InflightPaintable *self, GdkPaintable *_Nullable symbol);

GdkTexture *_Nullable inflight_paintable_get_picture(InflightPaintable *self);

// MARK: Textures

/// A texture of memory that is not copied: `release(owner)` is called when it is not needed any more, on any thread.
GdkTexture *inflight_texture_new(
    int width, int height, GdkMemoryFormat format, const void *pixels, gsize byteCount, gsize bytesPerRow,
    gpointer owner, void (*release)(gpointer owner));

/// How many paintables, and how many textures' memories, there are now.
guint inflight_live_paintables(void);
guint inflight_live_textures(void);

// MARK: Small things that are macros, or variadic

GtkWidget *_Nullable inflight_scrolled_window_above(GtkWidget *widget);
/// What is read out in place of the picture.
void inflight_set_description(GtkWidget *widget, const char *_Nullable description);
/// Whether the desktop's animations are on.
gboolean inflight_animations_are_on(GtkWidget *widget);

/// Whether the program's own wish is the dark variant of the theme.
void inflight_set_dark(gboolean isDark);

#pragma clang assume_nonnull end
