#pragma once

#include <vips/vips.h>

#include "message.h"

// Read pixels from top to bottom, and fail on damaged data.
#define INFLIGHT_VIPS_OPTIONS "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR

/// Adds to the colours of a HEIF image what libheif leaves out or does otherwise for some files: full range of grey,
/// alpha, and the crop. Returns whether it failed; libvips's error buffer then holds the error.
int inflight_heif_assemble(VipsImage *_Nullable *_Nonnull image, const inflight_heif *_Nonnull heif);
