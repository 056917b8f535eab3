#include "CInflightCodecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/encode.h>

struct inflight_webp_reader {
    WebPDecoderConfig config;
    WebPIDecoder *decoder;
    int wants_planes;
    int width, height;
    int is_checked;
};

inflight_webp_reader *inflight_webp_open(int wants_planes, int width, int height) {
    inflight_webp_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    if (WebPInitDecoderConfig(&reader->config)) {
        reader->wants_planes = wants_planes;
        reader->width = width;
        reader->height = height;
        reader->config.output.colorspace = wants_planes ? MODE_YUV : MODE_RGBA;
        reader->decoder = WebPIDecode(NULL, 0, &reader->config);
    }
    if (reader->decoder) return reader;
    free(reader);
    return NULL;
}

int inflight_webp_update(inflight_webp_reader *reader, const uint8_t *bytes, size_t count, int *is_done) {
    *is_done = 0;
    // Check the size before libwebp reads the frame's own header, because it then allocates memory for that size.
    if (!reader->is_checked) {
        WebPBitstreamFeatures features;
        switch (WebPGetFeatures(bytes, count, &features)) {
        case VP8_STATUS_OK: break;
        case VP8_STATUS_NOT_ENOUGH_DATA: return INFLIGHT_OK;
        default: return INFLIGHT_DAMAGED;
        }
        if (features.width != reader->width || features.height != reader->height) return INFLIGHT_DAMAGED;
        reader->is_checked = 1;
    }
    switch (WebPIUpdate(reader->decoder, bytes, count)) {
    case VP8_STATUS_OK: *is_done = 1; return INFLIGHT_OK;
    case VP8_STATUS_SUSPENDED: return INFLIGHT_OK;
    case VP8_STATUS_OUT_OF_MEMORY: return INFLIGHT_NO_MEMORY;
    default: return INFLIGHT_DAMAGED;
    }
}

void inflight_webp_get_rows(inflight_webp_reader *reader, inflight_webp_rows *rows) {
    memset(rows, 0, sizeof *rows);
    int u_stride = 0;
    uint8_t *u = NULL, *v = NULL;
    if (reader->wants_planes) {
        rows->luma = WebPIDecGetYUVA(
            reader->decoder, &rows->rows, &u, &v, NULL, &rows->width, &rows->height, &rows->luma_stride, &u_stride,
            NULL);
        rows->blue = u;
        rows->red = v;
        rows->chroma_stride = u_stride;
    } else {
        rows->pixels =
            WebPIDecGetRGB(reader->decoder, &rows->rows, &rows->width, &rows->height, &rows->pixel_stride);
    }
}

void inflight_webp_close(inflight_webp_reader *reader) {
    WebPIDelete(reader->decoder);
    WebPFreeDecBuffer(&reader->config.output);
    free(reader);
}

int inflight_webp_encode(
    const uint8_t *pixels, size_t bytes_per_row, int width, int height, int is_bgra, int has_alpha, int quality,
    int is_lossless, uint8_t **bytes, size_t *count, char message[256]) {
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) {
        snprintf(message, 256, "the libwebp version differs from the one this program was built with");
        return INFLIGHT_DAMAGED;
    }
    if (is_lossless) {
        // `exact` preserves the colours of transparent pixels. In lossless mode, `quality` would only set the effort.
        config.lossless = 1;
        config.exact = 1;
        picture.use_argb = 1;
    } else {
        config.quality = (float)quality;
    }
    picture.width = width;
    picture.height = height;
    int (*import)(WebPPicture *, const uint8_t *, int) =
        has_alpha ? (is_bgra ? WebPPictureImportBGRA : WebPPictureImportRGBA)
                  : (is_bgra ? WebPPictureImportBGRX : WebPPictureImportRGBX);
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    int is_written = import(&picture, pixels, (int)bytes_per_row) && WebPEncode(&config, &picture);
    int error = picture.error_code;
    WebPPictureFree(&picture);
    if (!is_written) {
        WebPMemoryWriterClear(&writer);
        int is_memory = error == VP8_ENC_ERROR_OUT_OF_MEMORY || error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
        snprintf(message, 256, is_memory ? "out of memory" : "libwebp reports error %d", error);
        return is_memory ? INFLIGHT_NO_MEMORY : INFLIGHT_DAMAGED;
    }
    *bytes = writer.mem;
    *count = writer.size;
    return INFLIGHT_OK;
}
