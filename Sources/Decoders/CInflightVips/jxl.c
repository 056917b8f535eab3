#include "jxl.h"

#include <stdio.h>
#include <string.h>

#include <jxl/decode.h>
#include <jxl/version.h>

#include "profile.h"

// Before libjxl 0.9, two functions have a format parameter, which they ignore.
#define HAS_UNUSED_FORMAT (JPEGXL_NUMERIC_VERSION < JPEGXL_COMPUTE_NUMERIC_VERSION(0, 9, 0))

static int fail(char message[INFLIGHT_VIPS_MESSAGE], const char *text) {
    snprintf(message, INFLIGHT_VIPS_MESSAGE, "%s", text);
    return INFLIGHT_VIPS_FAILED;
}

static JxlDecoder *start(const uint8_t *bytes, size_t count, int events) {
    JxlDecoder *decoder = JxlDecoderCreate(NULL);
    if (!decoder) return NULL;
    if (JxlDecoderSubscribeEvents(decoder, events) || JxlDecoderSetInput(decoder, bytes, count)) {
        JxlDecoderDestroy(decoder);
        return NULL;
    }
    JxlDecoderCloseInput(decoder);
    return decoder;
}

/// Decodes until the next event, which must be `event`.
static int advance(JxlDecoder *decoder, JxlDecoderStatus event, char message[INFLIGHT_VIPS_MESSAGE]) {
    JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
    if (status == event) return INFLIGHT_VIPS_OK;
    return fail(message, status == JXL_DEC_NEED_MORE_INPUT ? "unexpected end of file" : "malformed codestream");
}

int inflight_jxl_size(
    const uint8_t *bytes, size_t count, int *width, int *height, char message[INFLIGHT_VIPS_MESSAGE]) {
    JxlDecoder *decoder = start(bytes, count, JXL_DEC_BASIC_INFO);
    if (!decoder) return fail(message, "the decoder cannot start");
    JxlBasicInfo info;
    int status = advance(decoder, JXL_DEC_BASIC_INFO, message);
    if (!status && JxlDecoderGetBasicInfo(decoder, &info)) status = fail(message, "malformed header");
    if (!status && (info.xsize > INT32_MAX || info.ysize > INT32_MAX)) status = fail(message, "invalid size");
    if (!status) {
        *width = (int)info.xsize;
        *height = (int)info.ysize;
    }
    JxlDecoderDestroy(decoder);
    return status;
}

static void take_profile(JxlDecoder *decoder, VipsImage *image) {
    const JxlColorProfileTarget target = JXL_COLOR_PROFILE_TARGET_DATA;
    size_t length = 0;
#if HAS_UNUSED_FORMAT
    if (JxlDecoderGetICCProfileSize(decoder, NULL, target, &length)) return;
#else
    if (JxlDecoderGetICCProfileSize(decoder, target, &length)) return;
#endif
    uint8_t *profile = length == 0 || length > INFLIGHT_VIPS_LARGEST_PROFILE ? NULL : g_try_malloc(length);
    if (!profile) return;
#if HAS_UNUSED_FORMAT
    int failed = JxlDecoderGetColorAsICCProfile(decoder, NULL, target, profile, length) != JXL_DEC_SUCCESS;
#else
    int failed = JxlDecoderGetColorAsICCProfile(decoder, target, profile, length) != JXL_DEC_SUCCESS;
#endif
    if (!failed) vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
    g_free(profile);
}

/// Creates an image that owns its memory. The decoder fills it later.
static VipsImage *make_image(const JxlBasicInfo *info, const JxlPixelFormat *format, int has_black) {
    int is_word = format->data_type == JXL_TYPE_UINT16;
    int bands = (int)format->num_channels + has_black;
    // The caller has limited the number of pixels.
    size_t size = (size_t)info->xsize * info->ysize * (size_t)bands * (is_word ? 2 : 1);
    void *memory = g_try_malloc(size);
    if (!memory) return NULL;
    VipsImage *image = vips_image_new_from_memory(
        memory, size, (int)info->xsize, (int)info->ysize, bands, is_word ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR);
    if (!image) {
        g_free(memory);
        return NULL;
    }
    g_object_set_data_full(G_OBJECT(image), "inflight-memory", memory, g_free);
    int is_grey = format->num_channels < 3;
    image->Type = is_word ? (is_grey ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16)
                          : (is_grey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB);
    if (has_black) image->Type = VIPS_INTERPRETATION_CMYK;
    return image;
}

static unsigned divide(unsigned value, unsigned alpha, unsigned full) {
    uint64_t straight = alpha == 0 ? 0 : ((uint64_t)value * full + alpha / 2) / alpha;
    return straight > full ? full : (unsigned)straight;
}

/// Converts premultiplied to straight alpha, in place.
static void unpremultiply(void *memory, size_t pixels, const JxlPixelFormat *format) {
    unsigned last = format->num_channels - 1;
    for (size_t i = 0; i < pixels; i++) {
        if (format->data_type == JXL_TYPE_UINT16) {
            uint16_t *pixel = (uint16_t *)memory + i * format->num_channels;
            for (unsigned c = 0; c < last; c++) pixel[c] = (uint16_t)divide(pixel[c], pixel[last], 65535);
        } else {
            uint8_t *pixel = (uint8_t *)memory + i * format->num_channels;
            for (unsigned c = 0; c < last; c++) pixel[c] = (uint8_t)divide(pixel[c], pixel[last], 255);
        }
    }
}

/// Returns the index of the black channel of CMYK, or -1. The other inks are its three colours.
static int black_channel(JxlDecoder *decoder, const JxlBasicInfo *info) {
    for (uint32_t i = 0; i < info->num_extra_channels; i++) {
        JxlExtraChannelInfo channel;
        if (!JxlDecoderGetExtraChannelInfo(decoder, i, &channel) && channel.type == JXL_CHANNEL_BLACK) return (int)i;
    }
    return -1;
}

/// Returns whether the image's profile is for CMYK, or too large to be used.
static int has_cmyk_profile(VipsImage *image) {
    const void *profile;
    size_t length;
    if (!vips_image_get_typeof(image, VIPS_META_ICC_NAME)) return 1;
    return !vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &length) && length > 20
        && !memcmp((const char *)profile + 16, "CMYK", 4);
}

/// Inserts the black behind the other inks of each pixel. In JPEG XL, zero is the most ink.
static void insert_black(uint8_t *memory, size_t pixels, size_t channels, const uint8_t *black) {
    // Backwards, because the pixels grow in place.
    for (size_t i = pixels; i-- > 0;) {
        const uint8_t *from = memory + i * channels;
        uint8_t pixel[5] = {255 - from[0], 255 - from[1], 255 - from[2], 255 - black[i], channels > 3 ? from[3] : 0};
        memcpy(memory + i * (channels + 1), pixel, channels + 1);
    }
}

static VipsImage *decode(JxlDecoder *decoder, char message[INFLIGHT_VIPS_MESSAGE]) {
    JxlBasicInfo info;
    if (advance(decoder, JXL_DEC_BASIC_INFO, message)) return NULL;
    if (JxlDecoderGetBasicInfo(decoder, &info)) {
        fail(message, "malformed header");
        return NULL;
    }
    JxlPixelFormat format = {
        info.num_color_channels + (info.alpha_bits > 0),
        info.bits_per_sample > 8 || info.exponent_bits_per_sample > 0 ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8,
        JXL_NATIVE_ENDIAN, 0};
    int black = black_channel(decoder, &info);
    if (black >= 0) {
        if (info.num_color_channels != 3 || (info.alpha_bits > 0 && info.alpha_premultiplied)) {
            fail(message, "unsupported kind of CMYK");
            return NULL;
        }
        // libvips converts CMYK with alpha in 8 bits only.
        format.data_type = JXL_TYPE_UINT8;
    }
    if (advance(decoder, JXL_DEC_COLOR_ENCODING, message)) return NULL;
    if (advance(decoder, JXL_DEC_NEED_IMAGE_OUT_BUFFER, message)) return NULL;
    size_t size, pixels = (size_t)info.xsize * info.ysize;
    if (JxlDecoderImageOutBufferSize(decoder, &format, &size)) {
        fail(message, "invalid size");
        return NULL;
    }
    uint8_t *blacks = black >= 0 ? g_try_malloc(pixels) : NULL;
    VipsImage *image = black < 0 || blacks ? make_image(&info, &format, black >= 0) : NULL;
    if (!image) {
        g_free(blacks);
        fail(message, "out of memory");
        return NULL;
    }
    take_profile(decoder, image);
    void *memory = g_object_get_data(G_OBJECT(image), "inflight-memory");
    int failed = JxlDecoderSetImageOutBuffer(decoder, &format, memory, size) != JXL_DEC_SUCCESS;
    if (!failed && blacks) {
        JxlPixelFormat one = format;
        one.num_channels = 1;
        failed = JxlDecoderSetExtraChannelBuffer(decoder, &one, blacks, pixels, (uint32_t)black) != JXL_DEC_SUCCESS;
    }
    if (failed) fail(message, "invalid pixel layout");
    // A black channel beside another colour space has no meaning.
    if (!failed && blacks && !has_cmyk_profile(image)) failed = fail(message, "unsupported kind of CMYK");
    if (failed || advance(decoder, JXL_DEC_FULL_IMAGE, message)) {
        g_free(blacks);
        g_object_unref(image);
        return NULL;
    }
    if (blacks) {
        insert_black(memory, pixels, format.num_channels, blacks);
    } else if (info.alpha_bits > 0 && info.alpha_premultiplied) {
        unpremultiply(memory, pixels, &format);
    }
    g_free(blacks);
    return image;
}

VipsImage *inflight_jxl_decode(const uint8_t *bytes, size_t count, char message[INFLIGHT_VIPS_MESSAGE]) {
    JxlDecoder *decoder = start(bytes, count, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE);
    if (!decoder) {
        fail(message, "the decoder cannot start");
        return NULL;
    }
    VipsImage *image = decode(decoder, message);
    JxlDecoderDestroy(decoder);
    return image;
}

static void drop(void *opaque, size_t x, size_t y, size_t count, const void *pixels) {
    (void)opaque, (void)x, (void)y, (void)count, (void)pixels;
}

int inflight_jxl_check(const uint8_t *bytes, size_t count, char message[INFLIGHT_VIPS_MESSAGE]) {
    JxlDecoder *decoder = start(bytes, count, JXL_DEC_FULL_IMAGE);
    if (!decoder) return fail(message, "the decoder cannot start");
    const JxlPixelFormat format = {3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    JxlDecoderStatus status = JXL_DEC_FULL_IMAGE;
    while (status == JXL_DEC_FULL_IMAGE || status == JXL_DEC_NEED_IMAGE_OUT_BUFFER) {
        status = JxlDecoderProcessInput(decoder);
        if (status == JXL_DEC_NEED_IMAGE_OUT_BUFFER && JxlDecoderSetImageOutCallback(decoder, &format, drop, NULL))
            status = JXL_DEC_ERROR;
    }
    JxlDecoderDestroy(decoder);
    if (status == JXL_DEC_SUCCESS) return INFLIGHT_VIPS_OK;
    return fail(message, status == JXL_DEC_NEED_MORE_INPUT ? "unexpected end of file" : "malformed codestream");
}
