#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vips/vips.h>

#include "message.h"

// JPEG XL is decoded by libjxl itself, which libvips has along: libvips gives an animation's last frame for its first,
// leaves multiplied alpha as it is, and starts threads.

/// The size as it is seen. Returns a status.
int inflight_jxl_size(
    const uint8_t *bytes, size_t count, int *width, int *height, char message[INFLIGHT_VIPS_MESSAGE]);

/// Decodes the first frame: greys or red, green and blue, with straight alpha or without, in 8 or 16 bits, with its
/// profile. `NULL` where that fails.
VipsImage *inflight_jxl_decode(const uint8_t *bytes, size_t count, char message[INFLIGHT_VIPS_MESSAGE]);
