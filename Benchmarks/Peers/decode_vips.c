// Peer: `vips_thumbnail_buffer` resizes images in memory to a width.
//
//     VIPS_CONCURRENCY=1 decode_vips FOLDER WIDTH THREADS MILLISECONDS [DUMP_FOLDER]
//
// Each thread has its own libvips pipeline. The operation cache is off, so that every call decodes.
#include "pictures.h"
#include <vips/vips.h>

static int width;

static VipsImage *thumbnail(const struct picture *picture) {
    VipsImage *image;
    if (vips_thumbnail_buffer(
            picture->bytes, picture->count, &image, width, "height", 100000, "size", VIPS_SIZE_DOWN, NULL))
        vips_error_exit(NULL);
    return image;
}

static void work(const struct picture *picture) {
    VipsImage *image = thumbnail(picture);
    size_t count;
    void *pixels = vips_image_write_to_memory(image, &count);
    if (!pixels) vips_error_exit(NULL);
    g_free(pixels);
    g_object_unref(image);
}

int main(int argc, char **argv) {
    if (argc < 5) return 64;
    if (VIPS_INIT(argv[0])) vips_error_exit(NULL);
    vips_cache_set_max(0);
    width = atoi(argv[2]);
    read_pictures(argv[1]);
    if (argc > 5) {
        for (int index = 0; index < picture_count; index++) {
            VipsImage *image = thumbnail(&pictures[index]);
            size_t count;
            unsigned char *pixels = vips_image_write_to_memory(image, &count);
            if (!pixels || image->Bands != 3) fail("expected three bands");
            write_ppm(argv[5], pictures[index].name, pixels, image->Xsize, image->Ysize);
            g_free(pixels);
            g_object_unref(image);
        }
        return 0;
    }
    measure(work, atoi(argv[3]), atof(argv[4]) / 1000);
    return 0;
}
