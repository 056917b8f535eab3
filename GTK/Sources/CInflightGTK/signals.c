#include "CInflightGTK.h"

typedef struct {
    void (*handler)(gpointer data);
    gpointer data;
    void (*release)(gpointer data);
} Connection;

static void emitted(Connection *connection) { connection->handler(connection->data); }

static void disconnected(gpointer data, GClosure *closure) {
    (void)closure;
    Connection *connection = data;
    connection->release(connection->data);
    g_free(connection);
}

gulong inflight_connect(
    gpointer object, const char *signal, void (*handler)(gpointer data), gpointer data, void (*release)(gpointer data)) {
    Connection *connection = g_new(Connection, 1);
    *connection = (Connection){.handler = handler, .data = data, .release = release};
    // Swapped, so that `data` is the first argument. The handler ignores the signal's parameters.
    return g_signal_connect_data(
        object, signal, G_CALLBACK(emitted), connection, disconnected, G_CONNECT_SWAPPED);
}

typedef struct {
    void (*handler)(GtkListItem *item, gpointer data);
    gpointer data;
    void (*release)(gpointer data);
} ItemConnection;

static void item_emitted(GtkListItemFactory *factory, GtkListItem *item, ItemConnection *connection) {
    (void)factory;
    connection->handler(item, connection->data);
}

static void item_disconnected(gpointer data, GClosure *closure) {
    (void)closure;
    ItemConnection *connection = data;
    connection->release(connection->data);
    g_free(connection);
}

gulong inflight_connect_item(
    GtkListItemFactory *factory, const char *signal, void (*handler)(GtkListItem *item, gpointer data), gpointer data,
    void (*release)(gpointer data)) {
    ItemConnection *connection = g_new(ItemConnection, 1);
    *connection = (ItemConnection){.handler = handler, .data = data, .release = release};
    return g_signal_connect_data(factory, signal, G_CALLBACK(item_emitted), connection, item_disconnected, 0);
}

GtkWidget *inflight_scrolled_window_above(GtkWidget *widget) {
    return gtk_widget_get_ancestor(widget, GTK_TYPE_SCROLLED_WINDOW);
}

void inflight_set_description(GtkWidget *widget, const char *description) {
    if (GTK_IS_PICTURE(widget)) {
        gtk_picture_set_alternative_text(GTK_PICTURE(widget), description);
    } else if (description) {
        gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, description, -1);
    } else {
        gtk_accessible_reset_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL);
    }
}

gboolean inflight_animations_are_on(GtkWidget *widget) {
    gboolean areOn = TRUE;
    g_object_get(gtk_widget_get_settings(widget), "gtk-enable-animations", &areOn, NULL);
    return areOn;
}

void inflight_set_dark(gboolean isDark) {
    GtkSettings *settings = gtk_settings_get_default();
    if (settings) g_object_set(settings, "gtk-application-prefer-dark-theme", isDark, NULL);
}
