// Peer, and a limit: URLs to thumbnail files on one thread, with nothing but the libraries that do the work.
//
//     whole_limit LIST FOLDER WIDTH QUALITY AT_ONCE SCALE_DENOMINATOR
//
// libcurl's multi interface fetches, libjpeg-turbo decodes at a fraction of the size and encodes, and a separable
// Lanczos filter with three lobes, as Inflight's, resizes in between: columns first, because that is one multiplication
// for many pixels. It has no limits, retries, names, locks or checks of what it received, and writes files in place.
#include <curl/curl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { SHIFT = 14, CHANNELS = 3, LANES = 8, BLOCK = CHANNELS * 32 };

struct load {
    CURL *easy;
    char *name;
    unsigned char *bytes;
    size_t count, capacity;
};

static const char *folder;
static int wanted, quality, denominator;

static void check(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "whole_limit: %s failed\n", what);
    exit(1);
}

// MARK: Resizing

// For each result, the first source sample and the weights of as many as `taps`, a multiple of `LANES`.
struct weights {
    int taps;
    int *first;
    float *values;
    int32_t *fixed;
};

static double lanczos(double x) {
    if (x == 0) return 1;
    return fabs(x) >= 3 ? 0 : 3 * sin(M_PI * x) * sin(M_PI * x / 3) / (M_PI * M_PI * x * x);
}

static struct weights make_weights(int source, int target) {
    double scale = (double)source / target, reach = 3 * scale;
    int taps = ((int)ceil(reach) * 2 + LANES) / LANES * LANES;
    check(taps <= source, "resizing so small an image");
    size_t count = (size_t)(target * taps);
    struct weights made = {
        taps, malloc(sizeof(int) * (size_t)target), malloc(sizeof(float) * count), malloc(sizeof(int32_t) * count)};
    check(made.first && made.values && made.fixed, "malloc");
    for (int at = 0; at < target; at++) {
        double center = (at + 0.5) * scale - 0.5, sum = 0;
        int first = (int)ceil(center - reach);
        if (first > source - taps) first = source - taps;
        if (first < 0) first = 0;
        for (int tap = 0; tap < taps; tap++) sum += lanczos((first + tap - center) / scale);
        for (int tap = 0; tap < taps; tap++) {
            double weight = lanczos((first + tap - center) / scale) / sum;
            made.values[at * taps + tap] = (float)weight;
            made.fixed[at * taps + tap] = (int32_t)lround(weight * (1 << SHIFT));
        }
        made.first[at] = first;
    }
    return made;
}

static int32_t clamped(int32_t value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

static void resize(const unsigned char *pixels, int width, int height, unsigned char *target, int high) {
    // All images of a run have one size, so the weights are made once.
    static struct weights down, across;
    static int known_width, known_height, stride;
    static float *planes;
    if (width != known_width || height != known_height) {
        down = make_weights(height, high);
        across = make_weights(width, wanted);
        stride = width + BLOCK;
        planes = realloc(planes, sizeof *planes * (size_t)(stride * CHANNELS));
        check(planes != NULL, "malloc");
        known_width = width, known_height = height;
    }
    int count = width * CHANNELS;
    for (int y = 0; y < high; y++) {
        for (int start = 0; start < count; start += BLOCK) {
            // The last block reads into the next row, or into the end of the buffer.
            int32_t sums[BLOCK];
            for (int at = 0; at < BLOCK; at++) sums[at] = 1 << (SHIFT - 1);
            for (int tap = 0; tap < down.taps; tap++) {
                const unsigned char *source = pixels + (size_t)(down.first[y] + tap) * (size_t)count + start;
                int32_t weight = down.fixed[y * down.taps + tap];
                for (int at = 0; at < BLOCK; at++) sums[at] += weight * source[at];
            }
            float *plane = planes + start / CHANNELS;
            for (int at = 0; at < BLOCK / CHANNELS; at++) {
                for (int channel = 0; channel < CHANNELS; channel++)
                    plane[channel * stride + at] = (float)clamped(sums[at * CHANNELS + channel] >> SHIFT);
            }
        }
        for (int x = 0; x < wanted; x++) {
            const float *weight = across.values + x * across.taps;
            for (int channel = 0; channel < CHANNELS; channel++) {
                const float *source = planes + channel * stride + across.first[x];
                float lanes[LANES] = {0}, sum = 0.5f;
                for (int tap = 0; tap < across.taps; tap += LANES)
                    for (int lane = 0; lane < LANES; lane++) lanes[lane] += weight[tap + lane] * source[tap + lane];
                for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
                *target++ = (unsigned char)clamped((int32_t)sum);
            }
        }
    }
}

// MARK: JPEG

static void make_thumbnail(const struct load *load) {
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct reader;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, load->bytes, load->count);
    jpeg_read_header(&reader, TRUE);
    reader.out_color_space = JCS_RGB;
    reader.scale_num = 1, reader.scale_denom = (unsigned)denominator;
    jpeg_start_decompress(&reader);
    int width = (int)reader.output_width, height = (int)reader.output_height;
    int high = (int)lround((double)height * wanted / width);
    size_t stride = (size_t)width * CHANNELS;
    unsigned char *pixels = malloc(stride * (size_t)height + BLOCK), *small = malloc((size_t)(wanted * high * CHANNELS));
    check(pixels && small, "malloc");
    while (reader.output_scanline < reader.output_height) {
        JSAMPROW rows[16];
        unsigned count = reader.output_height - reader.output_scanline;
        if (count > 16) count = 16;
        for (unsigned at = 0; at < count; at++) rows[at] = pixels + stride * (reader.output_scanline + at);
        jpeg_read_scanlines(&reader, rows, count);
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    resize(pixels, width, height, small, high);

    struct jpeg_compress_struct writer;
    unsigned char *encoded = NULL;
    unsigned long length = 0;
    writer.err = jpeg_std_error(&errors);
    jpeg_create_compress(&writer);
    jpeg_mem_dest(&writer, &encoded, &length);
    writer.image_width = (JDIMENSION)wanted, writer.image_height = (JDIMENSION)high;
    writer.input_components = CHANNELS, writer.in_color_space = JCS_RGB;
    jpeg_set_defaults(&writer);
    jpeg_set_quality(&writer, quality, TRUE);
    jpeg_start_compress(&writer, TRUE);
    while (writer.next_scanline < writer.image_height) {
        JSAMPROW line = small + (size_t)writer.next_scanline * (size_t)(wanted * CHANNELS);
        jpeg_write_scanlines(&writer, &line, 1);
    }
    jpeg_finish_compress(&writer);
    jpeg_destroy_compress(&writer);

    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, load->name);
    FILE *file = fopen(path, "wb");
    check(file && fwrite(encoded, 1, length, file) == length && fclose(file) == 0, path);
    free(encoded), free(pixels), free(small);
}

// MARK: Fetching

static FILE *list;
static CURLM *multi;

static size_t take(char *bytes, size_t size, size_t number, void *context) {
    struct load *load = context;
    size_t length = size * number;
    if (load->count + length > load->capacity) {
        load->capacity = (load->count + length) * 2;
        load->bytes = realloc(load->bytes, load->capacity);
        check(load->bytes != NULL, "malloc");
    }
    memcpy(load->bytes + load->count, bytes, length);
    load->count += length;
    return length;
}

static void start_next(struct load *load) {
    char url[4096];
    if (!fgets(url, sizeof url, list)) return;
    url[strcspn(url, "\n")] = 0;
    char *slash = strrchr(url, '/');
    check(slash != NULL, url);
    free(load->name);
    load->name = strdup(slash + 1);
    load->count = 0;
    curl_easy_setopt(load->easy, CURLOPT_URL, url);
    check(load->name && curl_multi_add_handle(multi, load->easy) == CURLM_OK, "curl_multi_add_handle");
}

int main(int argc, char **argv) {
    if (argc < 7) {
        fprintf(stderr, "usage: whole_limit LIST FOLDER WIDTH QUALITY AT_ONCE SCALE_DENOMINATOR\n");
        return 64;
    }
    list = fopen(argv[1], "r");
    check(list != NULL, argv[1]);
    folder = argv[2], wanted = atoi(argv[3]), quality = atoi(argv[4]), denominator = atoi(argv[6]);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    check(multi != NULL, "curl_multi_init");
    for (int at = 0; at < atoi(argv[5]); at++) {
        struct load *load = calloc(1, sizeof *load);
        check(load && (load->easy = curl_easy_init()), "curl_easy_init");
        curl_easy_setopt(load->easy, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(load->easy, CURLOPT_WRITEDATA, load);
        curl_easy_setopt(load->easy, CURLOPT_PRIVATE, load);
        curl_easy_setopt(load->easy, CURLOPT_FAILONERROR, 1L);
        start_next(load);
    }
    for (int running = 1; running > 0;) {
        check(curl_multi_perform(multi, &running) == CURLM_OK, "curl_multi_perform");
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            if (message->msg != CURLMSG_DONE) continue;
            struct load *load = NULL;
            check(message->data.result == CURLE_OK, curl_easy_strerror(message->data.result));
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &load);
            curl_multi_remove_handle(multi, load->easy);
            make_thumbnail(load);
            start_next(load);
            running = 1;
        }
        if (running > 0) check(curl_multi_poll(multi, NULL, 0, 1000, NULL) == CURLM_OK, "curl_multi_poll");
    }
    return 0;
}
