#include "profile.h"

#include <stdint.h>
#include <stdlib.h>

// The test colours: STEPS levels each of red, green and blue, or COUNT levels of grey.
enum { STEPS = 5, COUNT = STEPS * STEPS * STEPS };

static int is_changed(const VipsImage *image, int colours, const uint8_t *tried) {
    VipsRegion *region = vips_region_new((VipsImage *)image);
    VipsRect all = {0, 0, COUNT, 1};
    int changed = image->Bands < colours || image->BandFmt != VIPS_FORMAT_UCHAR || vips_region_prepare(region, &all);
    if (!changed) {
        const uint8_t *made = VIPS_REGION_ADDR(region, 0, 0);
        for (int i = 0; i < COUNT * image->Bands && !changed; i++) {
            int pixel = i / image->Bands;
            int band = colours == 1 ? 0 : i % image->Bands;
            changed = abs(made[i] - tried[pixel * colours + band]) > 1;
        }
    }
    g_object_unref(region);
    return changed;
}

int inflight_vips_profile_is_srgb(VipsImage *image) {
    const void *profile;
    size_t length;
    if (vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &length)) return 0;
    int colours = image->Bands < 3 ? 1 : 3;
    uint8_t tried[COUNT * 3];
    for (int i = 0; i < COUNT; i++) {
        if (colours == 1) {
            tried[i] = (uint8_t)(i * 255 / (COUNT - 1));
        } else {
            tried[i * 3] = (uint8_t)(i % STEPS * 255 / (STEPS - 1));
            tried[i * 3 + 1] = (uint8_t)(i / STEPS % STEPS * 255 / (STEPS - 1));
            tried[i * 3 + 2] = (uint8_t)(i / STEPS / STEPS * 255 / (STEPS - 1));
        }
    }
    VipsImage *small = vips_image_new_from_memory(
        tried, (size_t)COUNT * (size_t)colours, COUNT, 1, colours, VIPS_FORMAT_UCHAR);
    if (!small) return 0;
    small->Type = colours == 1 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB;
    vips_image_set_blob_copy(small, VIPS_META_ICC_NAME, profile, length);
    VipsImage *made = NULL;
    int is_same = !vips_icc_transform(
                      small, &made, "srgb", "embedded", TRUE, "intent", VIPS_INTENT_PERCEPTUAL, "depth", 8, NULL) &&
        !is_changed(made, colours, tried);
    if (made) g_object_unref(made);
    g_object_unref(small);
    vips_error_clear();
    return is_same;
}
