#include "CInflightGTK.h"

#include <math.h>

struct _InflightPaintable {
    GObject parent;
    int width, height;
    InflightFit fit;
    gboolean hasColor;
    GdkRGBA color;
    GdkTexture *placeholder;
    GdkTexture *image;
    double fade;
    double angle, fraction;
    GdkPaintable *failure;
    int roomWidth, roomHeight;
    guint roomIdle;
    void (*roomHandler)(gpointer data);
    gpointer roomData;
    void (*roomRelease)(gpointer data);
};

typedef struct {
    GObjectClass parent;
} InflightPaintableClass;

#define INFLIGHT_PAINTABLE(object) G_TYPE_CHECK_INSTANCE_CAST(object, inflight_paintable_get_type(), InflightPaintable)

static guint livePaintables, liveTextures;

static void describe(GdkPaintableInterface *interface);

G_DEFINE_TYPE_WITH_CODE(
    InflightPaintable, inflight_paintable, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE(GDK_TYPE_PAINTABLE, describe))

/// Returns the rectangle of a texture within the drawn size.
static graphene_rect_t placed(InflightFit fit, GdkTexture *texture, double width, double height) {
    double w = gdk_texture_get_width(texture), h = gdk_texture_get_height(texture);
    if (fit == INFLIGHT_FIT_FILL) return GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height);
    double scale = fit == INFLIGHT_FIT_COVER ? fmax(width / w, height / h) : fmin(width / w, height / h);
    w *= scale;
    h *= scale;
    return GRAPHENE_RECT_INIT((float)((width - w) / 2), (float)((height - h) / 2), (float)w, (float)h);
}

static void draw_texture(GtkSnapshot *snapshot, InflightFit fit, GdkTexture *texture, double width, double height) {
    graphene_rect_t place = placed(fit, texture, width, height);
    gboolean clips = fit == INFLIGHT_FIT_COVER;
    if (clips) gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    gtk_snapshot_append_texture(snapshot, texture, &place);
    if (clips) gtk_snapshot_pop(snapshot);
}

static void draw_placeholder(InflightPaintable *self, GtkSnapshot *snapshot, double width, double height) {
    if (self->hasColor) {
        gtk_snapshot_append_color(snapshot, &self->color, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    }
    // The placeholder's texture is scaled like the image that will replace it.
    if (self->placeholder) draw_texture(snapshot, self->fit, self->placeholder, width, height);
}

static void draw_activity(InflightPaintable *self, GtkSnapshot *snapshot, double width, double height) {
    double radius = fmin(16, fmin(width, height) / 4);
    if (radius < 2) return;
    double x = width / 2, y = height / 2, line = fmax(1.5, radius / 5);
    double from = self->angle * G_PI / 180, part = self->fraction < 0 ? 0.25 : fmax(0.02, self->fraction);
    graphene_rect_t bounds = GRAPHENE_RECT_INIT(
        (float)(x - radius - line), (float)(y - radius - line), (float)(2 * (radius + line)), (float)(2 * (radius + line)));
    cairo_t *cairo = gtk_snapshot_append_cairo(snapshot, &bounds);
    cairo_set_line_width(cairo, line);
    // A dark ring under a light arc is visible on light and dark backgrounds.
    cairo_set_source_rgba(cairo, 0, 0, 0, 0.35);
    cairo_arc(cairo, x, y, radius, 0, 2 * G_PI);
    cairo_stroke(cairo);
    cairo_set_source_rgba(cairo, 1, 1, 1, 0.9);
    cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
    cairo_arc(cairo, x, y, radius, from - G_PI / 2, from - G_PI / 2 + part * 2 * G_PI);
    cairo_stroke(cairo);
    cairo_destroy(cairo);
}

static void draw_failure(InflightPaintable *self, GtkSnapshot *snapshot, double width, double height) {
    double side = fmin(48, fmin(width, height) / 2);
    if (side < 4) return;
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(
        snapshot, &GRAPHENE_POINT_INIT((float)((width - side) / 2), (float)((height - side) / 2)));
    gdk_paintable_snapshot(self->failure, snapshot, side, side);
    gtk_snapshot_restore(snapshot);
}

static gboolean room_changed(gpointer data) {
    InflightPaintable *self = INFLIGHT_PAINTABLE(data);
    self->roomIdle = 0;
    inflight_work_begin();
    if (self->roomHandler) self->roomHandler(self->roomData);
    inflight_work_end();
    return G_SOURCE_REMOVE;
}

static void notice_room(InflightPaintable *self, double width, double height) {
    int w = (int)ceil(width), h = (int)ceil(height);
    if (self->roomWidth == w && self->roomHeight == h) return;
    gboolean isFirst = self->roomWidth == 0;
    self->roomWidth = w;
    self->roomHeight = h;
    // Defer the call, because the handler must not change anything while GTK draws.
    if (!isFirst && self->roomHandler && !self->roomIdle) self->roomIdle = g_idle_add(room_changed, self);
}

static void draw(InflightPaintable *self, GtkSnapshot *snapshot, double width, double height) {
    if (!self->image) {
        draw_placeholder(self, snapshot, width, height);
    } else if (self->fade >= 1) {
        draw_texture(snapshot, self->fit, self->image, width, height);
    } else {
        gtk_snapshot_push_cross_fade(snapshot, fmax(0, self->fade));
        draw_placeholder(self, snapshot, width, height);
        gtk_snapshot_pop(snapshot);
        draw_texture(snapshot, self->fit, self->image, width, height);
        gtk_snapshot_pop(snapshot);
    }
    if (self->failure) draw_failure(self, snapshot, width, height);
    if (self->angle >= 0) draw_activity(self, snapshot, width, height);
}

static void snapshot(GdkPaintable *paintable, GdkSnapshot *target, double width, double height) {
    InflightPaintable *self = INFLIGHT_PAINTABLE(paintable);
    if (width <= 0 || height <= 0) return;
    inflight_work_begin();
    notice_room(self, width, height);
    draw(self, GTK_SNAPSHOT(target), width, height);
    inflight_work_end();
}

static int intrinsic_width(GdkPaintable *paintable) { return INFLIGHT_PAINTABLE(paintable)->width; }

static int intrinsic_height(GdkPaintable *paintable) { return INFLIGHT_PAINTABLE(paintable)->height; }

static void describe(GdkPaintableInterface *interface) {
    interface->snapshot = snapshot;
    interface->get_intrinsic_width = intrinsic_width;
    interface->get_intrinsic_height = intrinsic_height;
}

static void dispose(GObject *object) {
    InflightPaintable *self = INFLIGHT_PAINTABLE(object);
    g_clear_object(&self->placeholder);
    g_clear_object(&self->image);
    g_clear_object(&self->failure);
    g_clear_handle_id(&self->roomIdle, g_source_remove);
    self->roomHandler = NULL;
    if (self->roomRelease) self->roomRelease(self->roomData);
    self->roomRelease = NULL;
    G_OBJECT_CLASS(inflight_paintable_parent_class)->dispose(object);
}

static void finalize(GObject *object) {
    livePaintables -= 1;
    G_OBJECT_CLASS(inflight_paintable_parent_class)->finalize(object);
}

static void inflight_paintable_class_init(InflightPaintableClass *class) {
    G_OBJECT_CLASS(class)->dispose = dispose;
    G_OBJECT_CLASS(class)->finalize = finalize;
}

static void inflight_paintable_init(InflightPaintable *self) {
    livePaintables += 1;
    self->fade = 1;
    self->angle = -1;
}

InflightPaintable *inflight_paintable_new(void) { return g_object_new(inflight_paintable_get_type(), NULL); }

static void redraw(InflightPaintable *self) { gdk_paintable_invalidate_contents(GDK_PAINTABLE(self)); }

void inflight_paintable_set_size(InflightPaintable *self, int width, int height) {
    if (self->width == width && self->height == height) return;
    self->width = width;
    self->height = height;
    gdk_paintable_invalidate_size(GDK_PAINTABLE(self));
}

void inflight_paintable_set_fit(InflightPaintable *self, InflightFit fit) {
    if (self->fit == fit) return;
    self->fit = fit;
    redraw(self);
}

void inflight_paintable_set_placeholder(InflightPaintable *self, const GdkRGBA *color, GdkTexture *texture) {
    self->hasColor = color != NULL;
    if (color) self->color = *color;
    g_set_object(&self->placeholder, texture);
    redraw(self);
}

void inflight_paintable_on_room(
    InflightPaintable *self, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data)) {
    if (self->roomRelease) self->roomRelease(self->roomData);
    self->roomHandler = handler;
    self->roomData = data;
    self->roomRelease = release;
}

void inflight_paintable_reset(InflightPaintable *self, const GdkRGBA *color, GdkTexture *texture) {
    g_clear_object(&self->image);
    g_clear_object(&self->failure);
    self->fade = 1;
    self->angle = -1;
    inflight_paintable_set_placeholder(self, color, texture);
}

void inflight_paintable_set_image(InflightPaintable *self, GdkTexture *image, double fade) {
    if (!g_set_object(&self->image, image) && self->fade == fade) return;
    self->fade = fade;
    redraw(self);
}

void inflight_paintable_set_activity(InflightPaintable *self, double angle, double fraction) {
    if (self->angle == angle && self->fraction == fraction) return;
    self->angle = angle;
    self->fraction = fraction;
    redraw(self);
}

void inflight_paintable_set_failure(InflightPaintable *self, GdkPaintable *symbol) {
    if (g_set_object(&self->failure, symbol)) redraw(self);
}

GdkTexture *inflight_paintable_get_image(InflightPaintable *self) { return self->image; }

typedef struct {
    gpointer owner;
    void (*release)(gpointer owner);
} Pixels;

static void pixels_released(gpointer data) {
    Pixels *pixels = data;
    pixels->release(pixels->owner);
    g_free(pixels);
    g_atomic_int_dec_and_test((gint *)&liveTextures);
}

GdkTexture *inflight_texture_new(
    int width, int height, GdkMemoryFormat format, const void *memory, gsize byteCount, gsize bytesPerRow,
    gpointer owner, void (*release)(gpointer owner)) {
    Pixels *pixels = g_new(Pixels, 1);
    *pixels = (Pixels){.owner = owner, .release = release};
    g_atomic_int_inc((gint *)&liveTextures);
    GBytes *bytes = g_bytes_new_with_free_func(memory, byteCount, pixels_released, pixels);
    GdkTexture *texture = gdk_memory_texture_new(width, height, format, bytes, bytesPerRow);
    g_bytes_unref(bytes);
    return texture;
}

guint inflight_live_paintables(void) { return livePaintables; }

guint inflight_live_textures(void) { return (guint)g_atomic_int_get((gint *)&liveTextures); }
