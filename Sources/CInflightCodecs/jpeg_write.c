#include "CInflightCodecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

struct writer {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    char *message;
    unsigned char *bytes;
    unsigned long count;
};

static void fail(j_common_ptr info) {
    struct writer *writer = info->client_data;
    info->err->format_message(info, writer->message);
    longjmp(writer->escape, 1);
}

static void silence(j_common_ptr info) { (void)info; }

int inflight_jpeg_encode(
    const uint8_t *pixels, size_t bytes_per_row, int width, int height, int is_bgra, int quality, uint8_t **bytes,
    size_t *count, char message[256]) {
    // Not on the stack: what changes between setjmp and longjmp would be lost there.
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        snprintf(message, 256, "there is no memory");
        return INFLIGHT_NO_MEMORY;
    }
    writer->message = message;
    writer->info.err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = fail;
    writer->errors.output_message = silence;
    writer->info.client_data = writer;
    if (setjmp(writer->escape)) {
        jpeg_destroy_compress(&writer->info);
        free(writer->bytes);
        free(writer);
        return INFLIGHT_DAMAGED;
    }
    j_compress_ptr info = &writer->info;
    jpeg_create_compress(info);
    jpeg_mem_dest(info, &writer->bytes, &writer->count);
    info->image_width = (JDIMENSION)width;
    info->image_height = (JDIMENSION)height;
    info->input_components = 4;
    info->in_color_space = is_bgra ? JCS_EXT_BGRX : JCS_EXT_RGBX;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    info->optimize_coding = TRUE;
    jpeg_start_compress(info, TRUE);
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)info->next_scanline * bytes_per_row);
        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
    *bytes = writer->bytes;
    *count = writer->count;
    jpeg_destroy_compress(info);
    free(writer);
    return INFLIGHT_OK;
}
