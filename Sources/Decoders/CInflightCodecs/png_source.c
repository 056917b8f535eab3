#include "png_source.h"

#include "CInflightCodecs.h"

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

// Inflating and unfiltering are nearly the whole cost of a PNG. libdeflate inflates twice as fast as zlib, but only
// whole data, and Debian's libpng has no vector code for filters. So the data of a small image is inflated at once, and
// its rows are unfiltered here; libpng reads them as stored blocks (RFC 1951 section 3.2.4) without filters, and does
// the rest. Any fault leaves the file to libpng, which says what is wrong and shows the rows before it.

enum { HELD_LIMIT = 16 * 1024 * 1024, LONGEST_BLOCK = 0xFFFF, SIGNATURE = 8, FRAMING = 12, OVERREAD = 8 };

static uint32_t big32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_big32(uint8_t *target, uint32_t value) {
    for (int shift = 24, at = 0; at < 4; at++, shift -= 8) target[at] = (uint8_t)(value >> shift);
}

// MARK: What is held

// Sets the size of the rows. Returns the bytes that an inflated image takes, or 0 if it is not to be held.
static size_t measure(const uint8_t *bytes, size_t count, inflight_png_source *source) {
    if (count < SIGNATURE + FRAMING + 13 || memcmp(bytes + 12, "IHDR", 4) != 0 || bytes[28] != 0) return 0;
    static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    uint64_t width = big32(bytes + 16), height = big32(bytes + 20);
    uint32_t depth = bytes[24], color_type = bytes[25];
    if (depth > 16 || color_type >= sizeof channels) return 0;
    uint64_t bits = channels[color_type] * depth, row_size = 1 + (width * bits + 7) / 8;
    if (bits == 0 || height == 0 || row_size > LONGEST_BLOCK || height > HELD_LIMIT) return 0;
    source->row_size = row_size;
    source->row_count = height;
    source->bytes_per_pixel = (bits + 7) / 8;
    // The data of several chunks is joined.
    uint64_t held = row_size * (height + 1) + OVERREAD + count;
    return held <= HELD_LIMIT ? held : 0;
}

size_t inflight_png_held(const uint8_t *bytes, size_t count) {
    inflight_png_source source;
    return measure(bytes, count, &source);
}

// MARK: Inflating

static int is_image(const uint8_t *chunk) { return memcmp(chunk + 4, "IDAT", 4) == 0; }

// Finds the first run of chunks with pixels, and checks that the file has its end and that every critical chunk is
// intact. Returns the number of bytes of the run's data, or 0.
static size_t find_image(const inflight_png_source *source, size_t *start, size_t *end) {
    size_t total = 0;
    *start = *end = 0;
    for (size_t position = SIGNATURE; source->count - position >= FRAMING;) {
        const uint8_t *chunk = source->bytes + position;
        size_t length = big32(chunk);
        if (length > source->count - position - FRAMING) return 0;
        int is_critical = (chunk[4] & 0x20) == 0;
        if (is_critical && inflight_crc32(0, chunk + 4, length + 4) != big32(chunk + 8 + length)) return 0;
        if (memcmp(chunk + 4, "IEND", 4) == 0) return total;
        if (is_image(chunk) && (total == 0 || position == *end)) {
            if (total == 0) *start = position;
            *end = position + FRAMING + length;
            total += length;
        }
        position += FRAMING + length;
    }
    return 0;
}

// Returns whether the data of the chunks fills the rows exactly.
static int inflate_rows(const inflight_png_source *source, size_t start, size_t end, size_t total) {
    uint8_t *joined = NULL;
    const uint8_t *data = source->bytes + start + 8;
    if (total < end - start - FRAMING) {
        joined = malloc(total);
        if (!joined) return 0;
        size_t filled = 0;
        for (size_t position = start; position < end;) {
            size_t length = big32(source->bytes + position);
            memcpy(joined + filled, source->bytes + position + 8, length);
            filled += length;
            position += FRAMING + length;
        }
        data = joined;
    }
    size_t expected = source->row_size * source->row_count, used, written = 0;
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    int is_whole = decompressor
        && libdeflate_zlib_decompress_ex(
            decompressor, data, total, source->rows + source->row_size, expected, &used, &written) == LIBDEFLATE_SUCCESS
        && written == expected;
    if (decompressor) libdeflate_free_decompressor(decompressor);
    free(joined);
    return is_whole;
}

// MARK: Filters (PNG specification, third edition, section 9)

typedef uint8_t bytes8 __attribute__((ext_vector_type(8)));
typedef int16_t shorts8 __attribute__((ext_vector_type(8)));

static inline shorts8 load(const uint8_t *bytes) {
    bytes8 value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_convertvector(value, shorts8);
}

// Paeth's predictor: of three neighbours the one nearest to left + above - corner. With `threshold` as below, it is the
// greater of left and above if both are at least that, the lesser if both are at most that, and the corner otherwise:
// this has fewer steps that wait for the pixel before.
static inline shorts8 nearest(shorts8 left, shorts8 above, shorts8 corner) {
    shorts8 threshold = 3 * corner - above - left;
    shorts8 lesser = __builtin_elementwise_min(left, above), greater = __builtin_elementwise_max(left, above);
    shorts8 are_above = threshold <= lesser, are_below = greater <= threshold;
    return (are_above & greater) | (are_below & lesser) | (~(are_above | are_below) & corner);
}

// Reads up to `OVERREAD` bytes beyond the rows. `size` is a constant in each copy of the function.
__attribute__((always_inline)) static inline void unfilter_pixels(
    int filter, uint8_t *row, const uint8_t *before, size_t count, size_t size) {
    shorts8 left = 0, corner = 0;
    for (size_t at = 0; at < count; at += size) {
        shorts8 above = load(before + at), value = load(row + at);
        if (filter == 1) value += left;
        if (filter == 3) value += (left + above) >> 1;
        if (filter == 4) value += nearest(left, above, corner);
        left = value & 0xFF;
        bytes8 pixel = __builtin_convertvector(left, bytes8);
        memcpy(row + at, &pixel, size);
        corner = above;
    }
}

__attribute__((always_inline)) static inline void unfilter_by(
    int filter, uint8_t *row, const uint8_t *before, size_t count, size_t size) {
    switch (size) {
    case 1: return unfilter_pixels(filter, row, before, count, 1);
    case 2: return unfilter_pixels(filter, row, before, count, 2);
    case 3: return unfilter_pixels(filter, row, before, count, 3);
    case 4: return unfilter_pixels(filter, row, before, count, 4);
    case 6: return unfilter_pixels(filter, row, before, count, 6);
    default: return unfilter_pixels(filter, row, before, count, 8);
    }
}

// Leaves a row with an unknown filter as it is, for libpng to refuse.
static void unfilter(uint8_t *row, const uint8_t *before, size_t row_size, size_t bytes_per_pixel) {
    int filter = row[0];
    if (filter == 0 || filter > 4) return;
    row[0] = 0;
    size_t count = row_size - 1;
    row++, before++;
    switch (filter) {
    case 1: return unfilter_by(1, row, before, count, bytes_per_pixel);
    case 2:
        for (size_t at = 0; at < count; at++) row[at] += before[at];
        return;
    case 3: return unfilter_by(3, row, before, count, bytes_per_pixel);
    default: return unfilter_by(4, row, before, count, bytes_per_pixel);
    }
}

// MARK: Reading

void inflight_png_source_open(inflight_png_source *source, const uint8_t *bytes, size_t count) {
    memset(source, 0, sizeof *source);
    source->bytes = source->part = bytes;
    source->count = source->left = count;
    if (measure(bytes, count, source) == 0) return;
    size_t start, end, total = find_image(source, &start, &end);
    if (total == 0) return;
    size_t row_size = source->row_size, rows_size = row_size * (source->row_count + 1);
    source->rows = malloc(rows_size + OVERREAD);
    if (!source->rows) return;
    memset(source->rows, 0, row_size);
    memset(source->rows + rows_size, 0, OVERREAD);
    if (!inflate_rows(source, start, end, total)) {
        inflight_png_source_close(source);
        return;
    }
    source->left = start;
    source->image_end = end;
}

void inflight_png_source_close(inflight_png_source *source) {
    free(source->rows);
    source->rows = NULL;
}

// Goes on to the next part: the file up to the pixels; the beginning of their chunk; a block's header and the block for
// each row; two checksums, which libpng was told to ignore; the rest of the file.
static int next_part(inflight_png_source *source) {
    if (!source->rows) return 0;
    size_t rows = source->row_count, row_size = source->row_size, step = source->next++;
    uint8_t *frame = source->frame;
    source->part = frame;
    if (step == 0) {
        put_big32(frame, (uint32_t)(2 + rows * (5 + row_size) + 4));
        // Data of zlib with the smallest window (RFC 1950 section 2.2).
        memcpy(frame + 4, "IDAT\x08\x1d", 6);
        source->left = 10;
    } else if (step <= 2 * rows) {
        size_t number = (step - 1) / 2;
        uint8_t *row = source->rows + (number + 1) * row_size;
        if (step % 2 == 1) {
            unfilter(row, row - row_size, row_size, source->bytes_per_pixel);
            frame[0] = number + 1 == rows;
            frame[1] = (uint8_t)row_size, frame[2] = (uint8_t)(row_size >> 8);
            frame[3] = (uint8_t)~frame[1], frame[4] = (uint8_t)~frame[2];
            source->left = 5;
        } else {
            source->part = row;
            source->left = row_size;
        }
    } else if (step == 2 * rows + 1) {
        memset(frame, 0, 8);
        source->left = 8;
    } else if (step == 2 * rows + 2) {
        source->part = source->bytes + source->image_end;
        source->left = source->count - source->image_end;
    } else {
        return 0;
    }
    return 1;
}

int inflight_png_source_read(inflight_png_source *source, uint8_t *target, size_t count) {
    while (count > 0) {
        if (source->left == 0 && !next_part(source)) return 0;
        size_t taken = count < source->left ? count : source->left;
        memcpy(target, source->part, taken);
        source->part += taken, source->left -= taken;
        target += taken, count -= taken;
    }
    return 1;
}
