#pragma once

#include <vips/vips.h>

/// The maximum size of a colour profile in bytes; larger ones are ignored. Profiles of real devices have up to 3 MB.
#define INFLIGHT_VIPS_LARGEST_PROFILE ((size_t)4 << 20)

/// Returns whether the colour profile of a grey or RGB image equals sRGB in 8 bits, by converting test colours. The
/// caller then skips the transform, which would cost time and round.
int inflight_vips_profile_is_srgb(VipsImage *image);
