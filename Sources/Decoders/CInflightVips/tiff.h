#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vips/vips.h>

#include "message.h"

// TIFF pages that libvips refuses or misinterprets are decoded by libtiff directly, which libvips depends on anyway.

/// Returns whether a page is one of these, and stores its size if so.
///
/// They are grey, RGB, palette or CMYK pages with at least one of these properties: samples of 32 bits, of an uncommon
/// number of bits, or signed; more than one sample besides the colours; tiles in separate planes; more than four
/// separate planes; no photometric interpretation.
int inflight_tiff_is_uncommon(const uint8_t *bytes, size_t count, int page, int *width, int *height);

/// Decodes such a page to 8 bits, with straight alpha if it has alpha, and with its profile. Returns `NULL` on failure.
VipsImage *inflight_tiff_decode(const uint8_t *bytes, size_t count, int page, char message[INFLIGHT_VIPS_MESSAGE]);
