// The quality of thumbnails: PSNR over all channels to a double-precision reference, in dB.
//
//     quality FOLDER pixels|samples DUMP_FOLDER…
//
// `pixels`: the reference is libjpeg-turbo's full decode (exact integer transform, smooth chroma) to RGB bytes, resized
// by a separable Lanczos filter of three lobes in double precision. `samples`: the reference starts from the decoder's
// luma and chroma bytes; chroma upsampling (the same smooth filter), conversion to RGB (clamped to 0 … 255) and the
// same resize are all in double precision. The reference is not rounded. The images must be 4:2:0 with even sides.
// Prints the mean and the worst PSNR of each folder of PPM files.
#include "pictures.h"
#include <jpeglib.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

static double lanczos(double x) {
    x = fabs(x);
    if (x < 1e-12) return 1;
    return x >= 3 ? 0 : 3 * sin(pi * x) * sin(pi * x / 3) / (pi * pi * x * x);
}

static double *new_pixels(int width, int height) {
    double *pixels = calloc((size_t)width * (size_t)height * 3, sizeof *pixels);
    if (!pixels) fail("malloc");
    return pixels;
}

// Resizes one axis and transposes: each of `lines` lines of `from` pixels becomes `to` pixels.
static double *resize(const double *in, int lines, int from, int to) {
    double scale = (double)from / to, reach = 3 * scale;
    double *out = new_pixels(lines, to), *weights = malloc((size_t)from * sizeof *weights);
    if (!weights) fail("malloc");
    for (int target = 0; target < to; target++) {
        double centre = (target + 0.5) * scale, sum = 0;
        int first = (int)fmax(0, floor(centre - reach)), last = (int)fmin(from - 1, ceil(centre + reach));
        for (int source = first; source <= last; source++)
            sum += weights[source] = lanczos((source + 0.5 - centre) / scale);
        for (int line = 0; line < lines; line++) {
            double *pixel = out + ((size_t)target * (size_t)lines + (size_t)line) * 3;
            for (int source = first; source <= last; source++) {
                const double *from_pixel = in + ((size_t)line * (size_t)from + (size_t)source) * 3;
                for (int channel = 0; channel < 3; channel++)
                    pixel[channel] += from_pixel[channel] * weights[source] / sum;
            }
        }
    }
    free(weights);
    return out;
}

static double *decode(const struct picture *picture, J_COLOR_SPACE space, int *width, int *height) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, picture->bytes, picture->count);
    jpeg_read_header(&reader, TRUE);
    reader.dct_method = JDCT_ISLOW;
    reader.out_color_space = space;
    // Without fancy upsampling the decoder repeats chroma samples, so every second sample of every second row is a
    // stored one.
    reader.do_fancy_upsampling = space == JCS_RGB;
    jpeg_start_decompress(&reader);
    *width = (int)reader.output_width;
    *height = (int)reader.output_height;
    size_t row = (size_t)*width * 3;
    double *pixels = new_pixels(*width, *height);
    unsigned char *line = malloc(row);
    if (!line) fail("malloc");
    for (int y = 0; y < *height; y++) {
        jpeg_read_scanlines(&reader, &line, 1);
        for (size_t x = 0; x < row; x++) pixels[(size_t)y * row + x] = line[x];
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    free(line);
    return pixels;
}

// The chroma at (x, y): on each axis, three quarters of the nearest stored sample and a quarter of the next.
static double chroma(const double *pixels, int channel, int width, int height, int x, int y) {
    int near_x = x / 2, near_y = y / 2;
    int far_x = x % 2 ? near_x + 1 : near_x - 1, far_y = y % 2 ? near_y + 1 : near_y - 1;
    if (far_x < 0 || far_x * 2 >= width) far_x = near_x;
    if (far_y < 0 || far_y * 2 >= height) far_y = near_y;
#define stored(x, y) pixels[((size_t)(y) * 2 * (size_t)width + (size_t)(x) * 2) * 3 + (size_t)channel]
    return 0.75 * (0.75 * stored(near_x, near_y) + 0.25 * stored(far_x, near_y))
        + 0.25 * (0.75 * stored(near_x, far_y) + 0.25 * stored(far_x, far_y)) - 128;
#undef stored
}

static double *decode_samples(const struct picture *picture, int *width, int *height) {
    double *stored = decode(picture, JCS_YCbCr, width, height);
    double *pixels = new_pixels(*width, *height);
    for (int y = 0; y < *height; y++) {
        for (int x = 0; x < *width; x++) {
            size_t at = ((size_t)y * (size_t)*width + (size_t)x) * 3;
            double blue = chroma(stored, 1, *width, *height, x, y), red = chroma(stored, 2, *width, *height, x, y);
            double luma = stored[at];
            pixels[at] = fmin(255, fmax(0, luma + 1.402 * red));
            pixels[at + 1] = fmin(255, fmax(0, luma - 0.344136286 * blue - 0.714136286 * red));
            pixels[at + 2] = fmin(255, fmax(0, luma + 1.772 * blue));
        }
    }
    free(stored);
    return pixels;
}

static double psnr(const struct picture *picture, const char *folder, int from_samples) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.ppm", folder, picture->name);
    FILE *file = fopen(path, "rb");
    int width, height;
    if (!file || fscanf(file, "P6 %d %d 255", &width, &height) != 2 || fgetc(file) != '\n') fail(path);
    size_t count = (size_t)width * (size_t)height * 3;
    unsigned char *pixels = malloc(count);
    if (!pixels || fread(pixels, 1, count, file) != count) fail(path);
    fclose(file);

    int full_width, full_height;
    double *full = from_samples ? decode_samples(picture, &full_width, &full_height)
                                : decode(picture, JCS_RGB, &full_width, &full_height);
    double *turned = resize(full, full_height, full_width, width);
    double *reference = resize(turned, width, full_height, height);
    double sum = 0;
    for (size_t index = 0; index < count; index++) {
        double difference = fmin(255, fmax(0, reference[index])) - pixels[index];
        sum += difference * difference;
    }
    free(full), free(turned), free(reference), free(pixels);
    return 10 * log10(255 * 255 / fmax(sum / (double)count, 1e-9));
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    read_pictures(argv[1]);
    int from_samples = strcmp(argv[2], "samples") == 0;
    for (int argument = 3; argument < argc; argument++) {
        double sum = 0, worst = INFINITY;
        for (int index = 0; index < picture_count; index++) {
            double value = psnr(&pictures[index], argv[argument], from_samples);
            sum += value;
            worst = fmin(worst, value);
        }
        printf("mean=%.2f worst=%.2f\n", sum / picture_count, worst);
    }
    return 0;
}
