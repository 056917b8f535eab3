#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vips/vips.h>

#include "message.h"

// TIFF is decoded by libtiff directly, which libvips depends on anyway. libvips's loader refuses or misinterprets too
// many of its variants.

/// Reads the header of a page. Returns an image without pixels, or `NULL` on failure. The bytes must outlive it.
VipsImage *inflight_tiff_open(const uint8_t *bytes, size_t count, int page, char message[INFLIGHT_VIPS_MESSAGE]);

/// Makes the pixels available from top to bottom: grey, RGB or CMYK of 8 or 16 bits, with straight alpha if the page
/// has alpha, and with its profile. Samples are decoded when regions are prepared, whose width must be the image's.
/// Returns a status.
int inflight_tiff_start(VipsImage *image, char message[INFLIGHT_VIPS_MESSAGE]);
