#include "CInflightCodecs.h"

#include <stdlib.h>
#include <string.h>

#include <lcms2.h>

struct inflight_color_transform {
    // A separate context shares no state with other users of Little CMS in this process.
    cmsContext context;
    cmsHTRANSFORM transform;
    int kind;
    /// The sRGB colour of each grey level.
    uint8_t grays[256][3];
};

void inflight_color_close(inflight_color_transform *transform) {
    if (transform->transform) cmsDeleteTransform(transform->transform);
    if (transform->context) cmsDeleteContext(transform->context);
    free(transform);
}

static inflight_color_transform *allocate(int kind) {
    inflight_color_transform *transform = calloc(1, sizeof *transform);
    if (!transform) return NULL;
    transform->kind = kind;
    transform->context = cmsCreateContext(NULL, NULL);
    if (transform->context) return transform;
    inflight_color_close(transform);
    return NULL;
}

/// Completes `transform` and closes `source`. On failure, frees `transform` and returns NULL.
static inflight_color_transform *finish(inflight_color_transform *transform, cmsHPROFILE source) {
    // By INFLIGHT_COLOR_…; extra samples are skipped.
    static const struct {
        cmsColorSpaceSignature space;
        cmsUInt32Number source, target;
    } kinds[] = {
        {cmsSigGrayData, TYPE_GRAY_8, TYPE_RGB_8},
        {cmsSigRgbData, TYPE_RGBA_8, TYPE_RGBA_8},
        {cmsSigCmykData, TYPE_CMYK_8_REV, TYPE_RGBA_8},
        {cmsSigGrayData, COLORSPACE_SH(PT_GRAY) | EXTRA_SH(3) | CHANNELS_SH(1) | BYTES_SH(2), TYPE_RGBA_8},
        {cmsSigRgbData, TYPE_RGBA_16, TYPE_RGBA_8},
    };
    int kind = transform->kind;
    if (source && cmsGetColorSpace(source) == kinds[kind].space) {
        cmsHPROFILE target = cmsCreate_sRGBProfileTHR(transform->context);
        // Disable the cache of the last pixel, which threads would share.
        cmsUInt32Number flags = cmsFLAGS_NOCACHE;
        if (kind == INFLIGHT_COLOR_RGB) flags |= cmsFLAGS_COPY_ALPHA;
        // The table that replaces a transform of 16 bits is too coarse for the dark colours of linear light.
        if (kind >= INFLIGHT_COLOR_DEEP_GRAY) flags |= cmsFLAGS_NOOPTIMIZE;
        if (target) {
            transform->transform = cmsCreateTransformTHR(
                transform->context, source, kinds[kind].source, target, kinds[kind].target, INTENT_PERCEPTUAL, flags);
            cmsCloseProfile(target);
        }
    }
    if (source) cmsCloseProfile(source);
    if (!transform->transform) {
        inflight_color_close(transform);
        return NULL;
    }
    if (kind == INFLIGHT_COLOR_GRAY) {
        uint8_t ramp[256];
        for (int level = 0; level < 256; level++) ramp[level] = (uint8_t)level;
        cmsDoTransform(transform->transform, ramp, transform->grays, 256);
    }
    return transform;
}

inflight_color_transform *inflight_color_open_profile(const uint8_t *profile, size_t count, int kind) {
    inflight_color_transform *transform = allocate(kind);
    if (!transform) return NULL;
    return finish(transform, cmsOpenProfileFromMemTHR(transform->context, profile, (cmsUInt32Number)count));
}

inflight_color_transform *inflight_color_open_primaries(const double c[8], const double curve[7], int kind) {
    inflight_color_transform *transform = allocate(kind);
    if (!transform) return NULL;
    cmsCIExyY white = {c[0], c[1], 1};
    cmsCIExyYTRIPLE primaries = {{c[2], c[3], 1}, {c[4], c[5], 1}, {c[6], c[7], 1}};
    // Type 5 of the library has these seven parameters.
    cmsToneCurve *decoding = cmsBuildParametricToneCurve(transform->context, 5, curve);
    cmsToneCurve *curves[] = {decoding, decoding, decoding};
    cmsHPROFILE source = decoding ? cmsCreateRGBProfileTHR(transform->context, &white, &primaries, curves) : NULL;
    if (decoding) cmsFreeToneCurve(decoding);
    return finish(transform, source);
}

void inflight_color_apply(const inflight_color_transform *transform, uint8_t *pixels, size_t pixel_count) {
    switch (transform->kind) {
    case INFLIGHT_COLOR_GRAY:
        for (uint8_t *pixel = pixels; pixel < pixels + pixel_count * 4; pixel += 4)
            memcpy(pixel, transform->grays[pixel[0]], 3);
        return;
    case INFLIGHT_COLOR_RGB:
        cmsDoTransform(transform->transform, pixels, pixels, (cmsUInt32Number)pixel_count);
        return;
    default:
        cmsDoTransform(transform->transform, pixels, pixels, (cmsUInt32Number)pixel_count);
        for (size_t index = 0; index < pixel_count; index++) pixels[index * 4 + 3] = 255;
    }
}

void inflight_color_apply_deep(
    const inflight_color_transform *transform, const uint16_t *pixels, uint8_t *target, size_t pixel_count) {
    cmsDoTransform(transform->transform, pixels, target, (cmsUInt32Number)pixel_count);
    for (size_t index = 0; index < pixel_count; index++)
        target[index * 4 + 3] = (uint8_t)((pixels[index * 4 + 3] * 255u + 32895) >> 16);
}
