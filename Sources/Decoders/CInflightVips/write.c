#include "CInflightVips.h"

#include <vips/vips.h>

#include "message.h"

int inflight_vips_write_avif(
    const uint8_t *pixels, int width, int height, int has_alpha, int quality, uint8_t **bytes, size_t *count,
    char message[INFLIGHT_VIPS_MESSAGE]) {
    size_t size = (size_t)width * (size_t)height * 4;
    VipsImage *image = vips_image_new_from_memory(pixels, size, width, height, 4, VIPS_FORMAT_UCHAR);
    if (!image) return inflight_vips_fail(message);
    image->Type = VIPS_INTERPRETATION_sRGB;
    int failed = 0;
    if (!has_alpha) {
        VipsImage *opaque = NULL;
        failed = vips_extract_band(image, &opaque, 0, "n", 3, NULL);
        g_object_unref(image);
        image = opaque;
    }
    void *written = NULL;
    failed = failed ||
        vips_heifsave_buffer(
                 image, &written, count, "compression", VIPS_FOREIGN_HEIF_COMPRESSION_AV1, "Q", quality, "bitdepth", 8,
                 "strip", TRUE, NULL);
    if (image) g_object_unref(image);
    *bytes = written;
    return failed ? inflight_vips_fail(message) : INFLIGHT_VIPS_OK;
}
