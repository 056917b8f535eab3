#include "CInflightCodecs.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

#include "growing_bytes.h"

struct writer {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf escape;
    char *message;
    struct growing_bytes written;
};

static void fail(j_common_ptr info) {
    struct writer *writer = info->client_data;
    info->err->format_message(info, writer->message);
    longjmp(writer->escape, 1);
}

static void silence(j_common_ptr info) { (void)info; }

// libjpeg's own memory destination cannot be used. After an error, the caller's pointer refers to a buffer that was
// freed when the output grew, and the current buffer cannot be reached.

static void make_room(j_compress_ptr info) {
    struct growing_bytes *written = &((struct writer *)info->client_data)->written;
    if (!growing_bytes_reserve(written, 4096)) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
    info->dest->next_output_byte = written->bytes + written->count;
    info->dest->free_in_buffer = written->capacity - written->count;
}

static boolean take_full_buffer(j_compress_ptr info) {
    struct growing_bytes *written = &((struct writer *)info->client_data)->written;
    // libjpeg calls this when the whole buffer is used, and `free_in_buffer` is not valid then.
    written->count = written->capacity;
    make_room(info);
    return TRUE;
}

static void take_rest(j_compress_ptr info) {
    struct growing_bytes *written = &((struct writer *)info->client_data)->written;
    written->count = written->capacity - info->dest->free_in_buffer;
}

int inflight_jpeg_encode(
    const uint8_t *pixels, size_t bytes_per_row, int width, int height, int is_bgra, int quality, int is_progressive,
    uint8_t **bytes, size_t *count, char message[256]) {
    // On the heap, because local variables that change after setjmp are indeterminate after longjmp.
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        snprintf(message, 256, "out of memory");
        return INFLIGHT_NO_MEMORY;
    }
    writer->message = message;
    writer->info.err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = fail;
    writer->errors.output_message = silence;
    writer->info.client_data = writer;
    if (setjmp(writer->escape)) {
        jpeg_destroy_compress(&writer->info);
        free(writer->written.bytes);
        free(writer);
        return INFLIGHT_DAMAGED;
    }
    j_compress_ptr info = &writer->info;
    jpeg_create_compress(info);
    writer->destination.init_destination = make_room;
    writer->destination.empty_output_buffer = take_full_buffer;
    writer->destination.term_destination = take_rest;
    info->dest = &writer->destination;
    info->image_width = (JDIMENSION)width;
    info->image_height = (JDIMENSION)height;
    info->input_components = 4;
    info->in_color_space = is_bgra ? JCS_EXT_BGRX : JCS_EXT_RGBX;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    // Huffman codes optimised for the image save 2 % of the bytes, but take three times as long. Only progressive
    // files, which require them, have them.
    if (is_progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)info->next_scanline * bytes_per_row);
        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
    *bytes = writer->written.bytes;
    *count = writer->written.count;
    jpeg_destroy_compress(info);
    free(writer);
    return INFLIGHT_OK;
}
