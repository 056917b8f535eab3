#ifndef INFLIGHT_PNG_SOURCE_H
#define INFLIGHT_PNG_SOURCE_H

#include <stddef.h>
#include <stdint.h>

// The bytes that libpng reads: a file, or the file with its pixels already inflated and unfiltered.

typedef struct {
    const uint8_t *bytes;
    size_t count;
    // The end of the chunks that hold the pixels.
    size_t image_end;
    // A row of zeros, then the rows of the image, each after the number of its filter. `NULL` for the file as it is.
    uint8_t *rows;
    size_t row_size, row_count, bytes_per_pixel;
    // The part being read, and the number of the next one.
    const uint8_t *part;
    size_t left, next;
    uint8_t frame[16];
} inflight_png_source;

void inflight_png_source_open(inflight_png_source *source, const uint8_t *bytes, size_t count);
void inflight_png_source_close(inflight_png_source *source);
/// Returns 0 if there are not as many bytes.
int inflight_png_source_read(inflight_png_source *source, uint8_t *target, size_t count);

#endif
