#pragma once

#include "CInflightVips.h"

/// Copies libvips's error text to `message`, and clears libvips's error buffer. Call it after every failure of libvips.
/// Returns INFLIGHT_VIPS_FAILED.
int inflight_vips_fail(char message[INFLIGHT_VIPS_MESSAGE]);
