#pragma once

#include <vips/vips.h>

/// Colour profiles of more bytes are not used: those of real devices have up to 3 MB.
#define INFLIGHT_VIPS_LARGEST_PROFILE ((size_t)4 << 20)

/// Whether the colour profile of a picture of greys or of red, green and blue changes nothing that eight bits show.
/// Asked of the profile by trying: a transform that does nothing would still cost time, and round.
int inflight_vips_profile_is_srgb(VipsImage *image);
