#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vips/vips.h>

#include "message.h"

// Pages of TIFF that libvips refuses, or takes for something else, are read by libtiff itself, which libvips has along.

/// Whether that is one of them: greys, red, green and blue, a palette or four inks, of samples with an uncommon number
/// of bits, of 32 or with a sign; of several samples beside the colours, in separate tiles, in more than four separate
/// planes; or without a word on what the samples mean. Tells its size.
int inflight_tiff_is_uncommon(const uint8_t *bytes, size_t count, int page, int *width, int *height);

/// Decodes such a page to 8 bits, with straight alpha or without, and its profile. `NULL` where that fails.
VipsImage *inflight_tiff_decode(const uint8_t *bytes, size_t count, int page, char message[INFLIGHT_VIPS_MESSAGE]);
