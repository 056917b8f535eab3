// The lower bound: libjpeg-turbo decodes at a fraction of the size into memory, without a resize.
//
//     decode_floor FOLDER SCALE_DENOMINATOR THREADS MILLISECONDS
#include "pictures.h"
#include <jpeglib.h>

static int denominator;

static void work(const struct picture *picture) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, picture->bytes, picture->count);
    jpeg_read_header(&reader, TRUE);
    reader.scale_num = 1;
    reader.scale_denom = (unsigned)denominator;
    reader.out_color_space = JCS_EXT_RGBX;
    jpeg_start_decompress(&reader);
    size_t row = (size_t)reader.output_width * 4;
    unsigned char *pixels = malloc(row * reader.output_height);
    if (!pixels) fail("malloc");
    while (reader.output_scanline < reader.output_height) {
        JSAMPROW rows[16];
        unsigned count = reader.output_height - reader.output_scanline;
        if (count > 16) count = 16;
        for (unsigned index = 0; index < count; index++) rows[index] = pixels + row * (reader.output_scanline + index);
        jpeg_read_scanlines(&reader, rows, count);
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    free(pixels);
}

int main(int argc, char **argv) {
    if (argc < 5) return 64;
    denominator = atoi(argv[2]);
    read_pictures(argv[1]);
    measure(work, atoi(argv[3]), atof(argv[4]) / 1000);
    return 0;
}
