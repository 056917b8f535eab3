// Peer: the CPU time of libvips's operations on one core, in nanoseconds per source pixel.
//
//     VIPS_CONCURRENCY=1 process_vips WIDTH HEIGHT MILLISECONDS
//
// Each operation reads and writes memory. The operation cache is off.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vips/vips.h>

static VipsImage *opaque, *clear;

static VipsImage *made(int width, int height, int bands) {
    unsigned char *pixels = malloc((size_t)width * height * bands);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            unsigned char *pixel = pixels + ((size_t)y * width + x) * bands;
            pixel[0] = x, pixel[1] = y, pixel[2] = x ^ y;
            if (bands == 4) pixel[3] = x + y;
        }
    VipsImage *image =
        vips_image_new_from_memory(pixels, (size_t)width * height * bands, width, height, bands, VIPS_FORMAT_UCHAR);
    VipsImage *named;
    if (!image || vips_copy(image, &named, "interpretation", VIPS_INTERPRETATION_sRGB, NULL)) vips_error_exit(NULL);
    return named;
}

static int step(const char *name, VipsImage **out) {
    double scale[] = {1.2, 1.2, 1.2}, offset[] = {-12, -12, -12};
    if (!strcmp(name, "resize")) return vips_resize(opaque, out, 0.25, NULL);
    if (!strcmp(name, "blur2")) return vips_gaussblur(opaque, out, 2, NULL);
    if (!strcmp(name, "blur4")) return vips_gaussblur(opaque, out, 4, NULL);
    if (!strcmp(name, "blur20")) return vips_gaussblur(opaque, out, 20, NULL);
    if (!strcmp(name, "sharpen")) return vips_sharpen(opaque, out, "sigma", 1.0, NULL);
    if (!strcmp(name, "grey")) return vips_colourspace(opaque, out, VIPS_INTERPRETATION_B_W, NULL);
    if (!strcmp(name, "adjust")) return vips_linear(opaque, out, scale, offset, 3, "uchar", TRUE, NULL);
    if (!strcmp(name, "quarter")) return vips_rot(opaque, out, VIPS_ANGLE_D90, NULL);
    if (!strcmp(name, "rotate")) {
        VipsInterpolate *cubic = vips_interpolate_new("bicubic");
        int status = vips_rotate(opaque, out, 30, "interpolate", cubic, NULL);
        g_object_unref(cubic);
        return status;
    }
    if (!strcmp(name, "flip")) return vips_flip(opaque, out, VIPS_DIRECTION_HORIZONTAL, NULL);
    double white[] = {255, 255, 255};
    VipsArrayDouble *background = vips_array_double_new(white, 3);
    int status = vips_flatten(clear, out, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return status;
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void once(const char *name) {
    VipsImage *image;
    size_t count;
    if (step(name, &image)) vips_error_exit(NULL);
    void *pixels = vips_image_write_to_memory(image, &count);
    if (!pixels) vips_error_exit(NULL);
    g_free(pixels);
    g_object_unref(image);
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    if (VIPS_INIT(argv[0])) vips_error_exit(NULL);
    vips_cache_set_max(0);
    int width = atoi(argv[1]), height = atoi(argv[2]);
    double seconds = atof(argv[3]) / 1000;
    opaque = made(width, height, 3);
    clear = made(width, height, 4);
    const char *names[] = {"resize", "blur2",   "blur4",  "blur20", "sharpen", "grey",
                           "adjust", "quarter", "rotate", "flip",   "flatten"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        once(names[index]);
        int count = 0;
        double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        for (; now(CLOCK_MONOTONIC) - start < seconds; count++) once(names[index]);
        double used = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("%s=%.6f ", names[index], used / ((double)count * width * height) * 1e9);
    }
    printf("\n");
    return 0;
}
