// How near thumbnails come to a reference in double precision: PSNR over all channels, in dB.
//
//     quality FOLDER lanczos|area DUMP_FOLDER…
//
// The reference: libjpeg-turbo's full decode (the exact integer transform, smooth chroma), then a separable resize in
// double precision by Lanczos of three lobes, or by the mean of the area, rounded once at the end. Prints a mean and the
// worst picture for each folder of PPMs.
#include "pictures.h"
#include <jpeglib.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

static double lanczos(double x) {
    x = fabs(x);
    if (x < 1e-12) return 1;
    return x >= 3 ? 0 : 3 * sin(pi * x) * sin(pi * x / 3) / (pi * pi * x * x);
}

// One axis: `lines` lines of `from` pixels of three values become `to` pixels each, and the axes change places.
static double *resize(const double *in, int lines, int from, int to, int with_area) {
    double scale = (double)from / to, reach = with_area ? scale / 2 : 3 * scale;
    double *out = calloc((size_t)lines * (size_t)to * 3, sizeof *out);
    if (!out) fail("malloc");
    for (int target = 0; target < to; target++) {
        double centre = (target + 0.5) * scale, sum = 0;
        int first = (int)floor(centre - reach), last = (int)ceil(centre + reach);
        if (first < 0) first = 0;
        if (last > from - 1) last = from - 1;
        double weights[1024];
        if (last - first >= 1024) fail("too large a reduction");
        for (int source = first; source <= last; source++) {
            double low = fmax(source, centre - reach), high = fmin(source + 1, centre + reach);
            double weight = with_area ? fmax(0, high - low) : lanczos((source + 0.5 - centre) / scale);
            weights[source - first] = weight;
            sum += weight;
        }
        for (int line = 0; line < lines; line++) {
            double *pixel = out + ((size_t)target * (size_t)lines + (size_t)line) * 3;
            for (int source = first; source <= last; source++)
                for (int channel = 0; channel < 3; channel++)
                    pixel[channel] += in[((size_t)line * (size_t)from + (size_t)source) * 3 + (size_t)channel]
                        * weights[source - first] / sum;
        }
    }
    return out;
}

static double *decode(const struct picture *picture, int *width, int *height) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, picture->bytes, picture->count);
    jpeg_read_header(&reader, TRUE);
    reader.dct_method = JDCT_ISLOW;
    reader.out_color_space = JCS_RGB;
    jpeg_start_decompress(&reader);
    *width = (int)reader.output_width;
    *height = (int)reader.output_height;
    size_t row = (size_t)*width * 3;
    unsigned char *line = malloc(row);
    double *pixels = malloc(row * (size_t)*height * sizeof *pixels);
    if (!line || !pixels) fail("malloc");
    for (int y = 0; y < *height; y++) {
        jpeg_read_scanlines(&reader, &line, 1);
        for (size_t x = 0; x < row; x++) pixels[(size_t)y * row + x] = line[x];
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    free(line);
    return pixels;
}

static double psnr(const struct picture *picture, const char *folder, int with_area) {
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
    double *full = decode(picture, &full_width, &full_height);
    double *turned = resize(full, full_height, full_width, width, with_area);
    double *reference = resize(turned, width, full_height, height, with_area);
    double sum = 0;
    for (size_t index = 0; index < count; index++) {
        double difference = round(fmin(255, fmax(0, reference[index]))) - pixels[index];
        sum += difference * difference;
    }
    free(full), free(turned), free(reference), free(pixels);
    return 10 * log10(255 * 255 / fmax(sum / (double)count, 1e-9));
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    read_pictures(argv[1]);
    int with_area = strcmp(argv[2], "area") == 0;
    for (int argument = 3; argument < argc; argument++) {
        double sum = 0, worst = INFINITY;
        for (int index = 0; index < picture_count; index++) {
            double value = psnr(&pictures[index], argv[argument], with_area);
            sum += value;
            worst = fmin(worst, value);
        }
        printf("mean=%.2f worst=%.2f\n", sum / picture_count, worst);
    }
    return 0;
}
