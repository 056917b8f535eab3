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

static void write_pixels(j_compress_ptr info, const uint8_t *pixels, size_t bytes_per_row) {
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)info->next_scanline * bytes_per_row);
        jpeg_write_scanlines(info, &row, 1);
    }
}

static void write_planes(j_compress_ptr info, const inflight_jpeg_planes *planes) {
    JSAMPROW rows[3][2 * DCTSIZE];
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    while (info->next_scanline < info->image_height) {
        for (int index = 0; index < 3; index++) {
            JDIMENSION step = index == 0 ? 1 : 2;
            JDIMENSION first = info->next_scanline / step, last = (info->image_height - 1) / step;
            // The library reads whole blocks, so the last row is repeated.
            for (JDIMENSION row = 0; row < 2 * DCTSIZE / step; row++)
                rows[index][row] = (JSAMPROW)(
                    planes->bytes[index] + (first + row < last ? first + row : last) * planes->bytes_per_row[index]);
        }
        jpeg_write_raw_data(info, arrays, 2 * DCTSIZE);
    }
}

/// Encodes pixels, or planes if there are no pixels.
static int encode(
    const uint8_t *pixels, size_t bytes_per_row, int is_bgra, const inflight_jpeg_planes *planes,
    inflight_jpeg_file *file) {
    // On the heap, because local variables that change after setjmp are indeterminate after longjmp.
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        snprintf(file->message, 256, "out of memory");
        return INFLIGHT_NO_MEMORY;
    }
    writer->message = file->message;
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
    info->image_width = (JDIMENSION)file->width;
    info->image_height = (JDIMENSION)file->height;
    info->input_components = pixels ? 4 : 3;
    info->in_color_space = !pixels ? JCS_YCbCr : is_bgra ? JCS_EXT_BGRX : JCS_EXT_RGBX;
    jpeg_set_defaults(info);
    info->raw_data_in = !pixels;
    jpeg_set_quality(info, file->quality, TRUE);
    // Huffman codes optimised for the image save 2 % of the bytes, but take three times as long. Only progressive
    // files, which require them, have them.
    if (file->is_progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    if (pixels) write_pixels(info, pixels, bytes_per_row);
    else write_planes(info, planes);
    jpeg_finish_compress(info);
    file->bytes = writer->written.bytes;
    file->count = writer->written.count;
    jpeg_destroy_compress(info);
    free(writer);
    return INFLIGHT_OK;
}

int inflight_jpeg_encode(const uint8_t *pixels, size_t bytes_per_row, int is_bgra, inflight_jpeg_file *file) {
    return encode(pixels, bytes_per_row, is_bgra, NULL, file);
}

int inflight_jpeg_encode_planes(const inflight_jpeg_planes *planes, inflight_jpeg_file *file) {
    return encode(NULL, 0, 0, planes, file);
}
