#include "CXPixels.h"

#include <X11/Xutil.h>
#include <gdk/x11/gdkx.h>
#include <string.h>

gboolean x_pixels_are_there(GtkWidget *widget) { return GDK_IS_X11_DISPLAY(gtk_widget_get_display(widget)); }

void x_pixels_origin(GtkWidget *window, double *x, double *y) {
    gtk_native_get_surface_transform(GTK_NATIVE(window), x, y);
}

int x_pixels_read(GtkWidget *window, uint8_t *pixels, int width, int height) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    if (!surface || width <= 0 || height <= 0) return 0;
    Display *display = gdk_x11_display_get_xdisplay(gtk_widget_get_display(window));
    XWindowAttributes attributes;
    // The connection that GTK draws with: the server processes its requests in order, so all drawing is done first.
    if (!XGetWindowAttributes(display, gdk_x11_surface_get_xid(surface), &attributes)) return 0;
    if (attributes.map_state != IsViewable || attributes.width < width || attributes.height < height) return 0;
    XImage *image = XGetImage(
        display, gdk_x11_surface_get_xid(surface), 0, 0, (unsigned)width, (unsigned)height, AllPlanes, ZPixmap);
    if (!image) return 0;
    int given = 0;
    if (image->bits_per_pixel == 32) {
        for (int y = 0; y < height; y++) {
            memcpy(pixels + (size_t)y * (size_t)width * 4, image->data + y * image->bytes_per_line, (size_t)width * 4);
        }
        given = width;
    }
    XDestroyImage(image);
    return given;
}
