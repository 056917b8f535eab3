#include "heif.h"

// The largest value of a sample: libvips stores those of more than 8 bits as the highest bits of 16-bit samples.
static double full(int bits) { return bits <= 8 ? 255 : (double)((65535u << (16 - bits)) & 65535u); }

/// Replaces `*image` with `made` unless `failed`.
static int replace(VipsImage **image, int failed, VipsImage *const *made) {
    if (failed) return -1;
    g_object_unref(*image);
    *image = *made;
    return 0;
}

/// Maps samples linearly to those of `bits` bits and full range.
static int rescale(VipsImage **image, const inflight_heif_layer *layer, int bits) {
    double zero = 0, range = full(layer->bits);
    if (layer->needs_range) {
        // ITU-T H.273: 16 to 235 of 8 bits, and 2 to the power of n - 8 times as much of n bits.
        double unit = layer->bits <= 8 ? 1 : 256;
        zero = 16 * unit;
        range = 219 * unit;
    }
    VipsBandFormat format = bits <= 8 ? VIPS_FORMAT_UCHAR : VIPS_FORMAT_USHORT;
    double factor = full(bits) / range;
    if (factor == 1 && zero == 0 && (*image)->BandFmt == format) return 0;
    VipsInterpretation type = (*image)->Type;
    VipsImage *made = NULL;
    // Half a level is added because the cast, which also clips, rounds down.
    if (replace(image, vips_linear1(*image, &made, factor, 0.5 - zero * factor, NULL), &made)) return -1;
    // The highest bits of 16 bits end in zeros.
    if (replace(image, vips_cast(*image, &made, format, NULL), &made)) return -1;
    return replace(image, vips_copy(*image, &made, "interpretation", type, NULL), &made);
}

/// Scales alpha to the size of the colours if it has another.
static int resize(VipsImage **alpha, const VipsImage *colour) {
    if ((*alpha)->Xsize == colour->Xsize && (*alpha)->Ysize == colour->Ysize) return 0;
    double x = (double)colour->Xsize / (*alpha)->Xsize, y = (double)colour->Ysize / (*alpha)->Ysize;
    VipsImage *made = NULL;
    // Rows are then read in any order.
    if (replace(alpha, (made = vips_image_copy_memory(*alpha)) == NULL, &made)) return -1;
    if (replace(alpha, vips_resize(*alpha, &made, x, "vscale", y, "kernel", VIPS_KERNEL_LINEAR, NULL), &made)) return -1;
    if ((*alpha)->Xsize == colour->Xsize && (*alpha)->Ysize == colour->Ysize) return 0;
    vips_error("heif", "alpha has another size");
    return -1;
}

static int add_alpha(VipsImage **image, const inflight_heif *heif) {
    VipsImage *alpha = NULL, *made = NULL;
    VipsInterpretation type = (*image)->Type;
    int failed = vips_heifload_buffer((void *)heif->alpha_bytes, heif->alpha_count, &alpha, INFLIGHT_VIPS_OPTIONS, NULL);
    // Its depth is compared with the declared one, which the scale depends on.
    failed = failed || (alpha->BandFmt == VIPS_FORMAT_UCHAR) != (heif->alpha.bits <= 8)
        || replace(&alpha, vips_extract_band(alpha, &made, 0, NULL), &made)
        || rescale(&alpha, &heif->alpha, heif->colour.bits) || resize(&alpha, *image)
        || replace(image, vips_bandjoin2(*image, alpha, &made, NULL), &made);
    if (alpha) g_object_unref(alpha);
    if (failed) return -1;
    if (heif->is_premultiplied) {
        double most = full(heif->colour.bits);
        VipsBandFormat format = (*image)->BandFmt;
        if (replace(image, vips_unpremultiply(*image, &made, "max_alpha", most, NULL), &made)) return -1;
        if (replace(image, vips_linear1(*image, &made, 1, 0.5, NULL), &made)) return -1;
        if (replace(image, vips_cast(*image, &made, format, NULL), &made)) return -1;
    }
    return replace(image, vips_copy(*image, &made, "interpretation", type, NULL), &made);
}

int inflight_heif_assemble(VipsImage **image, const inflight_heif *heif) {
    VipsImage *made = NULL;
    if (((*image)->BandFmt == VIPS_FORMAT_UCHAR) != (heif->colour.bits <= 8)) {
        vips_error("heif", "another depth than declared");
        return -1;
    }
    if (heif->colour.needs_range && rescale(image, &heif->colour, heif->colour.bits)) return -1;
    if (heif->alpha_bytes && add_alpha(image, heif)) return -1;
    if (heif->left == 0 && heif->top == 0 && heif->width == (*image)->Xsize && heif->height == (*image)->Ysize) return 0;
    int failed = vips_extract_area(*image, &made, heif->left, heif->top, heif->width, heif->height, NULL);
    return replace(image, failed, &made);
}
