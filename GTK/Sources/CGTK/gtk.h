#pragma once

#if !__has_include(<gtk/gtk.h>)
#error "GTK 4.8 or later is missing: install the Debian package libgtk-4-dev"
#endif

#include <gtk/gtk.h>
