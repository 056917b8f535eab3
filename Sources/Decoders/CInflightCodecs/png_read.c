#include "CInflightCodecs.h"
#include "png_source.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <png.h>

struct inflight_png_reader {
    png_structp png;
    png_infop info;
    inflight_png_source source;
    int has_ended;
    char message[256];
};

static void fail(png_structp png, png_const_charp text) {
    inflight_png_reader *reader = png_get_error_ptr(png);
    snprintf(reader->message, sizeof reader->message, "%s", text);
    png_longjmp(png, 1);
}

// Warnings concern optional chunks, which libpng then skips.
static void ignore(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void read_bytes(png_structp png, png_bytep target, size_t count) {
    inflight_png_reader *reader = png_get_io_ptr(png);
    if (!inflight_png_source_read(&reader->source, target, count)) {
        reader->has_ended = 1;
        png_error(png, "unexpected end of file");
    }
}

inflight_png_reader *inflight_png_open(const uint8_t *bytes, size_t count) {
    inflight_png_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    inflight_png_source_open(&reader->source, bytes, count);
    reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, fail, ignore);
    if (reader->png) reader->info = png_create_info_struct(reader->png);
    if (!reader->info) {
        inflight_png_close(reader);
        return NULL;
    }
    return reader;
}

void inflight_png_close(inflight_png_reader *reader) {
    if (reader->png) png_destroy_read_struct(&reader->png, reader->info ? &reader->info : NULL, NULL);
    inflight_png_source_close(&reader->source);
    free(reader);
}

int inflight_png_lacks_data(const inflight_png_reader *reader) { return reader->has_ended; }

const char *inflight_png_error(const inflight_png_reader *reader) { return reader->message; }

static int read_header(inflight_png_reader *reader, int keeps_depth, inflight_png_header *header) {
    png_structp png = reader->png;
    png_infop info = reader->info;
    png_set_read_fn(png, reader, read_bytes);
    // As in browsers, an optional chunk with a wrong checksum is ignored. The critical chunks of a source with inflated
    // rows were checked.
    png_set_crc_action(png, reader->source.rows ? PNG_CRC_QUIET_USE : PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    if (reader->source.rows) png_set_option(png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
    // The caller checks the image's size. The limit on chunks stops files with too many chunks.
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_chunk_cache_max(png, 256);
    // Skip chunks that are not needed, and those that the caller reads in place.
    static const png_byte left_out[] =
        "tEXt\0zTXt\0iTXt\0tIME\0hIST\0sPLT\0pCAL\0sCAL\0oFFs\0pHYs\0bKGD\0eXIf\0"
        "iCCP\0sRGB\0gAMA\0cHRM\0cICP\0sBIT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, left_out, sizeof left_out / 5);
    png_read_info(png, info);

    header->width = (int)png_get_image_width(png, info);
    header->height = (int)png_get_image_height(png, info);
    header->is_interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    header->is_deep = keeps_depth && png_get_bit_depth(png, info) == 16;
    png_set_expand(png);
    if (!header->is_deep) png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (header->is_deep) png_set_swap(png);
#endif
    if (header->is_interlaced) png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)header->width * (header->is_deep ? 8 : 4))
        png_error(png, "invalid row length");
    return INFLIGHT_OK;
}

int inflight_png_read_header(inflight_png_reader *reader, int keeps_depth, inflight_png_header *header) {
    memset(header, 0, sizeof *header);
    if (setjmp(png_jmpbuf(reader->png))) return INFLIGHT_DAMAGED;
    return read_header(reader, keeps_depth, header);
}

int inflight_png_read_row(inflight_png_reader *reader, uint8_t *row) {
    if (setjmp(png_jmpbuf(reader->png))) return INFLIGHT_DAMAGED;
    png_read_row(reader->png, row, NULL);
    return INFLIGHT_OK;
}

int inflight_png_show_row(inflight_png_reader *reader, uint8_t *row) {
    if (setjmp(png_jmpbuf(reader->png))) return INFLIGHT_DAMAGED;
    png_read_row(reader->png, NULL, row);
    return INFLIGHT_OK;
}

int inflight_png_finish(inflight_png_reader *reader) {
    if (setjmp(png_jmpbuf(reader->png))) return INFLIGHT_DAMAGED;
    png_read_end(reader->png, NULL);
    return INFLIGHT_OK;
}

uint32_t inflight_crc32(uint32_t crc, const uint8_t *bytes, size_t count) {
    return libdeflate_crc32(crc, bytes, count);
}
