#include "CInflightVips.h"

#include <string.h>

#include <vips/vips.h>

#include "heif.h"
#include "jxl.h"
#include "message.h"
#include "profile.h"
#include "tiff.h"

struct inflight_vips_reader {
    int loader;
    /// The input. JPEG XL has no `image` until `inflight_vips_prepare`.
    const uint8_t *bytes;
    size_t count;
    VipsImage *image;
    VipsRegion *region;
    int has_alpha;
    int is_display_p3;
    /// The maximum value of a 16-bit sample.
    unsigned full;
};

static VipsImage *load(const uint8_t *bytes, size_t count, int loader) {
    // libvips does not write to the memory, although its parameter is not const.
    void *memory = (void *)bytes;
    VipsImage *image = NULL;
    int failed = 1;
    switch (loader) {
    case INFLIGHT_VIPS_HEIF: failed = vips_heifload_buffer(memory, count, &image, INFLIGHT_VIPS_OPTIONS, NULL); break;
    case INFLIGHT_VIPS_SVG: failed = vips_svgload_buffer(memory, count, &image, INFLIGHT_VIPS_OPTIONS, NULL); break;
    }
    return failed ? NULL : image;
}

inflight_vips_reader *inflight_vips_open(
    const uint8_t *bytes, size_t count, int loader, int page, int *width, int *height,
    char message[INFLIGHT_VIPS_MESSAGE]) {
    VipsImage *image = NULL;
    if (loader == INFLIGHT_VIPS_JXL) {
        if (inflight_jxl_size(bytes, count, width, height, message)) return NULL;
    } else {
        if (loader == INFLIGHT_VIPS_TIFF) {
            image = inflight_tiff_open(bytes, count, page, message);
        } else {
            image = load(bytes, count, loader);
            if (!image) inflight_vips_fail(message);
        }
        if (!image) return NULL;
        *width = image->Xsize;
        *height = image->Ysize;
    }
    inflight_vips_reader *reader = g_new0(inflight_vips_reader, 1);
    reader->loader = loader;
    reader->bytes = bytes;
    reader->count = count;
    reader->image = image;
    return reader;
}

int inflight_vips_assemble(
    inflight_vips_reader *reader, const inflight_heif *heif, char message[INFLIGHT_VIPS_MESSAGE]) {
    return inflight_heif_assemble(&reader->image, heif) ? inflight_vips_fail(message) : INFLIGHT_VIPS_OK;
}

void inflight_vips_close(inflight_vips_reader *reader) {
    if (reader->region) g_object_unref(reader->region);
    if (reader->image) g_object_unref(reader->image);
    g_free(reader);
    vips_error_clear();
}

/// Replaces the reader's image with `*made`, unless `failed`. `made` is a pointer because the call that sets it is
/// also an argument, and the order of evaluation of arguments is unspecified.
static int replace(inflight_vips_reader *reader, int failed, VipsImage *const *made) {
    if (failed) return -1;
    g_object_unref(reader->image);
    reader->image = *made;
    return 0;
}

static int is_grey(const VipsImage *image) {
    return image->Type == VIPS_INTERPRETATION_B_W || image->Type == VIPS_INTERPRETATION_GREY16;
}

static int is_rgb(const VipsImage *image) {
    return image->Type == VIPS_INTERPRETATION_sRGB || image->Type == VIPS_INTERPRETATION_RGB16;
}

/// Returns whether the image has a profile that is used. Profiles above the limit are ignored, as in the other codecs.
static int has_profile(const VipsImage *image) {
    const void *profile;
    size_t length;
    return vips_image_get_typeof(image, VIPS_META_ICC_NAME)
        && !vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &length) && length <= INFLIGHT_VIPS_LARGEST_PROFILE;
}

/// Converts the image to sRGB or to grey, of 8 or 16 bits.
static int convert(inflight_vips_reader *reader) {
    VipsImage *made = NULL;
    int is_cmyk = reader->image->Type == VIPS_INTERPRETATION_CMYK;
    int is_profiled = has_profile(reader->image);
    int is_p3 = !is_profiled && reader->is_display_p3 && is_rgb(reader->image);
    if (is_cmyk || is_profiled || is_p3) {
        if (!is_cmyk && !is_p3 && inflight_vips_profile_is_srgb(reader->image)) return 0;
        int depth = reader->image->BandFmt == VIPS_FORMAT_UCHAR ? 8 : 16;
        int failed = vips_icc_transform(
            reader->image, &made, "srgb", "embedded", is_profiled, "input_profile",
            is_cmyk ? "cmyk" : is_p3 ? "p3" : "srgb", "intent", VIPS_INTENT_PERCEPTUAL, "depth", depth, NULL);
        if (!failed || is_cmyk) return replace(reader, failed, &made);
        // The profile is malformed or for other pixels: treat the image as if it had none.
        vips_error_clear();
    }
    if (is_grey(reader->image) || is_rgb(reader->image)) return 0;
    return replace(reader, vips_colourspace(reader->image, &made, VIPS_INTERPRETATION_sRGB, NULL), &made);
}

int inflight_vips_prepare(
    inflight_vips_reader *reader, int has_alpha, int bits, int is_display_p3,
    char message[INFLIGHT_VIPS_MESSAGE]) {
    if (!reader->image) reader->image = inflight_jxl_decode(reader->bytes, reader->count, message);
    if (!reader->image) return INFLIGHT_VIPS_FAILED;
    if (reader->loader == INFLIGHT_VIPS_TIFF && inflight_tiff_start(reader->image, message))
        return INFLIGHT_VIPS_FAILED;
    reader->has_alpha = has_alpha;
    reader->is_display_p3 = is_display_p3;
    reader->full = 65535;
    if (reader->loader == INFLIGHT_VIPS_HEIF && bits > 8 && bits < 16) reader->full = (65535u << (16 - bits)) & 65535u;
    VipsImage *before = reader->image;
    if (convert(reader)) return inflight_vips_fail(message);
    // The result of a transform uses all 16 bits.
    if (reader->image != before) reader->full = 65535;
    reader->region = vips_region_new(reader->image);
    return reader->region ? INFLIGHT_VIPS_OK : inflight_vips_fail(message);
}

static void write_bytes(const inflight_vips_reader *reader, const uint8_t *from, uint8_t *to) {
    int bands = reader->image->Bands;
    int colours = bands >= 3 ? 3 : 1;
    for (int x = 0; x < reader->image->Xsize; x++, from += bands, to += 4) {
        to[0] = from[0];
        to[1] = from[colours == 3 ? 1 : 0];
        to[2] = from[colours == 3 ? 2 : 0];
        to[3] = reader->has_alpha && bands > colours ? from[colours] : 255;
    }
}

static uint8_t narrow(unsigned value, unsigned full) {
    return value >= full ? 255 : (uint8_t)((value * 255 + full / 2) / full);
}

static void write_words(const inflight_vips_reader *reader, const uint16_t *from, uint8_t *to) {
    int bands = reader->image->Bands;
    int colours = bands >= 3 ? 3 : 1;
    unsigned full = reader->full;
    for (int x = 0; x < reader->image->Xsize; x++, from += bands, to += 4) {
        to[0] = narrow(from[0], full);
        to[1] = narrow(from[colours == 3 ? 1 : 0], full);
        to[2] = narrow(from[colours == 3 ? 2 : 0], full);
        to[3] = reader->has_alpha && bands > colours ? narrow(from[colours], full) : 255;
    }
}

int inflight_vips_read_rows(
    inflight_vips_reader *reader, int first, int count, uint8_t *rows, char message[INFLIGHT_VIPS_MESSAGE]) {
    VipsRect area = {0, first, reader->image->Xsize, count};
    if (vips_region_prepare(reader->region, &area)) return inflight_vips_fail(message);
    for (int y = 0; y < count; y++) {
        const void *from = VIPS_REGION_ADDR(reader->region, 0, first + y);
        uint8_t *to = rows + (size_t)y * (size_t)reader->image->Xsize * 4;
        if (reader->image->BandFmt == VIPS_FORMAT_USHORT) {
            write_words(reader, from, to);
        } else {
            write_bytes(reader, from, to);
        }
    }
    return INFLIGHT_VIPS_OK;
}
