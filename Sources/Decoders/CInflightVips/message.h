#pragma once

#if !__has_include(<glib-object.h>)
#error "GLib's headers are missing: install the Debian package libglib2.0-dev, or name their folders: -Xcc -I/…/glib-2.0"
#endif

#include "CInflightVips.h"

/// Copies libvips's error text to `message`, and clears libvips's error buffer. Call it after every failure of libvips.
/// Returns INFLIGHT_VIPS_FAILED.
int inflight_vips_fail(char message[INFLIGHT_VIPS_MESSAGE]);
