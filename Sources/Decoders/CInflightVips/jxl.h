#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vips/vips.h>

#include "message.h"

// JPEG XL is decoded by libjxl directly, which libvips depends on anyway. libvips would return the last frame of an
// animation instead of its first, keep alpha premultiplied, and start threads.

/// Stores the displayed size. Returns a status.
int inflight_jxl_size(
    const uint8_t *bytes, size_t count, int *width, int *height, char message[INFLIGHT_VIPS_MESSAGE]);

/// Decodes the first frame to grey or RGB, of 8 or 16 bits, with straight alpha if it has alpha, and with its profile.
/// Returns `NULL` on failure.
VipsImage *inflight_jxl_decode(const uint8_t *bytes, size_t count, char message[INFLIGHT_VIPS_MESSAGE]);
