#include "CInflightCodecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

struct inflight_png_reader {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t count;
    size_t position;
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
    if (count > reader->count - reader->position) png_error(png, "unexpected end of file");
    memcpy(target, reader->bytes + reader->position, count);
    reader->position += count;
}

inflight_png_reader *inflight_png_open(const uint8_t *bytes, size_t count) {
    inflight_png_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->bytes = bytes;
    reader->count = count;
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
    free(reader);
}

const char *inflight_png_error(const inflight_png_reader *reader) { return reader->message; }

static int read_header(inflight_png_reader *reader, size_t maximum_profile, inflight_png_header *header) {
    png_structp png = reader->png;
    png_infop info = reader->info;
    png_set_read_fn(png, reader, read_bytes);
    // A wrong checksum is an error in optional chunks, too.
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    // The caller checks the image's size. The limits on chunks stop files with too many chunks, and chunks that
    // decompress to too many bytes.
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_chunk_cache_max(png, 256);
    png_set_chunk_malloc_max(png, maximum_profile);
    // Skip chunks that are not needed. EXIF is also skipped: libpng would copy it whatever its size, and it can be read
    // in place.
    static const png_byte left_out[] = "tEXt\0zTXt\0iTXt\0tIME\0hIST\0sPLT\0pCAL\0sCAL\0oFFs\0pHYs\0bKGD\0eXIf";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, left_out, sizeof left_out / 5);
    png_read_info(png, info);

    header->width = (int)png_get_image_width(png, info);
    header->height = (int)png_get_image_height(png, info);
    header->is_interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    int intent = 0;
    header->is_srgb = png_get_sRGB(png, info, &intent) != 0;
    png_charp name = NULL;
    png_bytep profile = NULL;
    png_uint_32 profile_count = 0;
    int method = 0;
    if (png_get_iCCP(png, info, &name, &method, &profile, &profile_count) && profile_count <= maximum_profile) {
        header->profile = profile;
        header->profile_count = profile_count;
    }
    double gamma = 0;
    if (png_get_gAMA(png, info, &gamma)) header->gamma = gamma;
    double *c = header->chromaticities;
    if (!png_get_cHRM(png, info, c, c + 1, c + 2, c + 3, c + 4, c + 5, c + 6, c + 7)) memset(c, 0, 8 * sizeof *c);

    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    if (header->is_interlaced) png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)header->width * 4) png_error(png, "invalid row length");
    return INFLIGHT_OK;
}

int inflight_png_read_header(inflight_png_reader *reader, size_t maximum_profile, inflight_png_header *header) {
    memset(header, 0, sizeof *header);
    if (setjmp(png_jmpbuf(reader->png))) return INFLIGHT_DAMAGED;
    return read_header(reader, maximum_profile, header);
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
    return (uint32_t)crc32_z(crc, bytes, count);
}
