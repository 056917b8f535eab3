#pragma once

#include <vips/vips.h>

/// Whether the colour profile of a picture of greys or of red, green and blue changes nothing that eight bits show.
/// Asked of the profile by trying: a transform that does nothing would still cost time, and round.
int inflight_vips_profile_is_srgb(VipsImage *image);
