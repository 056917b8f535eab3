#include "tiff.h"

#include <stdio.h>
#include <string.h>

#include <tiffio.h>

#include "profile.h"

typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t position;
} memory_file;

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t count) {
    memory_file *file = handle;
    size_t left = file->position < file->count ? file->count - file->position : 0;
    size_t given = count < 0 ? 0 : (size_t)count < left ? (size_t)count : left;
    if (given > 0) memcpy(target, file->bytes + file->position, given);
    file->position += given;
    return (tmsize_t)given;
}

static tmsize_t write_bytes(thandle_t handle, void *source, tmsize_t count) {
    (void)handle, (void)source, (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    memory_file *file = handle;
    toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->position : file->count;
    // libtiff seeks backwards with large offsets that wrap around.
    file->position = (size_t)(base + offset);
    return file->position;
}

static int close_file(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size(thandle_t handle) { return ((memory_file *)handle)->count; }

typedef struct {
    TIFF *tiff;
    uint32_t width, height;
    uint16_t bits, samples, format, photometric, planes;
    /// The number of colour samples, the index of the alpha sample or -1, and whether the colours are premultiplied.
    int colours, alpha, is_multiplied;
    /// The red, green and blue planes of the palette.
    uint16_t *palette[3];
} tiff_page;

/// Guesses a missing photometric interpretation like libtiff's own viewer.
static uint16_t guess_photometric(TIFF *tiff, int colours) {
    uint16_t compression = COMPRESSION_NONE;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    if (colours >= 3) return PHOTOMETRIC_RGB;
    int is_fax = compression >= COMPRESSION_CCITTRLE && compression <= COMPRESSION_CCITTFAX4;
    return is_fax || compression == COMPRESSION_CCITTRLEW ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
}

/// Reads the tags of the current directory. Returns whether this file decodes the page, instead of libvips.
static int read_page(tiff_page *page, TIFF *tiff) {
    uint16_t extra_count = 0, *extras = NULL;
    page->tiff = tiff;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page->width)) return 0;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page->height)) return 0;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &page->planes);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extras);
    int is_guessed = !TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page->photometric);
    // Without a photometric interpretation, libtiff counts colours as unspecified extra samples. Only alpha is
    // certainly not a colour.
    int colours = page->samples;
    for (int i = 0; is_guessed && i < extra_count; i++)
        colours -= extras[i] == EXTRASAMPLE_ASSOCALPHA || extras[i] == EXTRASAMPLE_UNASSALPHA;
    if (is_guessed) page->photometric = guess_photometric(tiff, colours);
    switch (page->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE: page->colours = 1; break;
    case PHOTOMETRIC_RGB: page->colours = 3; break;
    case PHOTOMETRIC_SEPARATED: page->colours = 4; break;
    default: return 0;
    }
    int is_integer = page->format == SAMPLEFORMAT_UINT || page->format == SAMPLEFORMAT_INT
        || page->format == SAMPLEFORMAT_VOID;
    if (!is_integer || page->samples < page->colours || page->bits == 0) return 0;
    if (page->bits > 16 && page->bits != 32) return 0;
    if (page->photometric == PHOTOMETRIC_PALETTE && page->bits > 16) return 0;
    page->alpha = -1;
    for (int i = 0; i < extra_count && page->colours + i < page->samples && page->alpha < 0; i++) {
        if (extras[i] != EXTRASAMPLE_ASSOCALPHA && extras[i] != EXTRASAMPLE_UNASSALPHA) continue;
        page->alpha = page->colours + i;
        page->is_multiplied = extras[i] == EXTRASAMPLE_ASSOCALPHA;
    }
    int is_uncommon_depth = page->bits == 32 || page->bits & (page->bits - 1) || page->format == SAMPLEFORMAT_INT;
    int is_separate = page->planes == PLANARCONFIG_SEPARATE && (TIFFIsTiled(tiff) || page->samples > 4);
    return is_guessed || is_uncommon_depth || is_separate || page->samples > page->colours + 1;
}

/// Opens a page of `file`. Returns `NULL` if it is malformed, or one that libvips decodes.
static TIFF *open_page(memory_file *file, tiff_page *page, int number) {
    TIFF *tiff = TIFFClientOpen("", "rm", file, read_bytes, write_bytes, seek, close_file, size, NULL, NULL);
    if (tiff && TIFFSetDirectory(tiff, (tdir_t)number) && read_page(page, tiff)) return tiff;
    if (tiff) TIFFClose(tiff);
    vips_error_clear();
    return NULL;
}

int inflight_tiff_is_uncommon(const uint8_t *bytes, size_t count, int number, int *width, int *height) {
    memory_file file = {bytes, count, 0};
    tiff_page page = {0};
    TIFF *tiff = open_page(&file, &page, number);
    if (!tiff) return 0;
    TIFFClose(tiff);
    if (page.width > INT32_MAX || page.height > INT32_MAX) return 0;
    *width = (int)page.width;
    *height = (int)page.height;
    return 1;
}

/// Returns the sample at `index` in a row. Samples that are not whole bytes are packed from each byte's highest bit.
static uint32_t sample(const uint8_t *row, size_t index, unsigned bits) {
    uint16_t word;
    uint32_t value;
    switch (bits) {
    case 8: return row[index];
    case 16: memcpy(&word, row + index * 2, 2); return word;
    case 32: memcpy(&value, row + index * 4, 4); return value;
    }
    const uint8_t *from = row + index * bits / 8;
    unsigned skipped = index * bits % 8;
    value = (uint32_t)from[0] << 16;
    if (skipped + bits > 8) value |= (uint32_t)from[1] << 8;
    if (skipped + bits > 16) value |= from[2];
    return value >> (24 - skipped - bits) & ((1u << bits) - 1);
}

/// Scales a sample to 8 bits, from the minimum to the maximum of its type. Zero of a signed type becomes mid-grey.
static uint8_t level(const tiff_page *page, uint32_t value) {
    if (page->format == SAMPLEFORMAT_INT) value ^= 1u << (page->bits - 1);
    if (page->bits == 32) return (uint8_t)(value >> 24);
    uint32_t full = (1u << page->bits) - 1;
    return (uint8_t)((value * 255 + full / 2) / full);
}

/// Writes sample `number` of each pixel in one row of a strip or tile to its place in the output. `first` is the index
/// of the first one in the row, and `step` the distance to the next, in samples.
static void write_samples(
    const tiff_page *page, const uint8_t *row, int number, size_t first, size_t step, uint32_t columns, uint8_t *to,
    int bands) {
    int is_palette = page->photometric == PHOTOMETRIC_PALETTE && number == 0;
    int flip = page->photometric == PHOTOMETRIC_MINISWHITE && number == 0 ? 255 : 0;
    to += number == page->alpha ? bands - 1 : number;
    for (uint32_t x = 0; x < columns; x++, to += bands) {
        uint32_t value = sample(row, first + x * step, page->bits);
        if (is_palette) {
            for (int i = 0; i < 3; i++) to[i] = (uint8_t)(page->palette[i][value] >> 8);
        } else {
            *to = level(page, value) ^ (uint8_t)flip;
        }
    }
}

static const char *read_pixels(const tiff_page *page, uint8_t *pixels, int bands, uint8_t *buffer, tmsize_t length) {
    TIFF *tiff = page->tiff;
    uint32_t columns = page->width, rows = 0;
    int is_tiled = TIFFIsTiled(tiff), is_separate = page->planes == PLANARCONFIG_SEPARATE;
    if (is_tiled) {
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &columns);
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
        if (rows > page->height) rows = page->height;
    }
    if (columns == 0 || rows == 0) return "strips without a size";
    size_t step = is_separate ? 1 : page->samples;
    uint64_t row_length = ((uint64_t)columns * step * page->bits + 7) / 8;
    for (uint32_t y = 0; y < page->height; y += rows) {
        uint32_t height = page->height - y < rows ? page->height - y : rows;
        for (uint32_t x = 0; x < page->width; x += columns) {
            uint32_t width = page->width - x < columns ? page->width - x : columns;
            for (int plane = 0; plane < (is_separate ? page->samples : 1); plane++) {
                if (is_separate && plane >= page->colours && plane != page->alpha) continue;
                tmsize_t found = is_tiled
                    ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, (uint16_t)plane), buffer, length)
                    : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, (uint16_t)plane), buffer, length);
                if (found < 0) return "";
                if ((uint64_t)found < row_length * height) return "a strip is too short";
                for (uint32_t row = 0; row < height; row++) {
                    const uint8_t *from = buffer + row_length * row;
                    uint8_t *to = pixels + ((size_t)(y + row) * page->width + x) * (size_t)bands;
                    for (int s = is_separate ? plane : 0; s < (is_separate ? plane + 1 : page->samples); s++) {
                        if (s >= page->colours && s != page->alpha) continue;
                        write_samples(page, from, s, is_separate ? 0 : (size_t)s, step, width, to, bands);
                    }
                }
            }
            if (page->width - x <= columns) break;
        }
        if (page->height - y <= rows) break;
    }
    return NULL;
}

static void unpremultiply(uint8_t *pixels, size_t count, int bands) {
    for (size_t i = 0; i < count; i++, pixels += bands) {
        unsigned alpha = pixels[bands - 1];
        for (int c = 0; c < bands - 1; c++) {
            unsigned straight = alpha == 0 ? 0 : (pixels[c] * 255u + alpha / 2) / alpha;
            pixels[c] = straight > 255 ? 255 : (uint8_t)straight;
        }
    }
}

/// Some old programs write palettes with 8-bit values instead of 16-bit values.
static void widen_palette(const tiff_page *page) {
    for (int i = 0; i < 3; i++)
        for (size_t index = 0; index < (size_t)1 << page->bits; index++)
            if (page->palette[i][index] > 255) return;
    for (int i = 0; i < 3; i++)
        for (size_t index = 0; index < (size_t)1 << page->bits; index++) page->palette[i][index] *= 257;
}

/// Returns NULL on success, or the error, which is empty if libvips's error buffer holds it.
static const char *decode(tiff_page *page, VipsImage **image) {
    int is_palette = page->photometric == PHOTOMETRIC_PALETTE;
    if (is_palette) {
        uint16_t **palette = page->palette;
        if (!TIFFGetField(page->tiff, TIFFTAG_COLORMAP, &palette[0], &palette[1], &palette[2]))
            return "missing palette";
        widen_palette(page);
    }
    int colours = is_palette ? 3 : page->colours;
    int bands = colours + (page->alpha >= 0);
    // Each side fits an int, and the caller has limited the number of pixels.
    size_t count = (size_t)page->width * page->height;
    tmsize_t length = TIFFIsTiled(page->tiff) ? TIFFTileSize(page->tiff) : TIFFStripSize(page->tiff);
    if (length <= 0) return "strips without a size";
    uint8_t *pixels = g_try_malloc0(count * (size_t)bands);
    uint8_t *buffer = pixels ? g_try_malloc((size_t)length) : NULL;
    const char *problem = "out of memory";
    if (buffer) problem = read_pixels(page, pixels, bands, buffer, length);
    g_free(buffer);
    if (!problem) {
        if (page->alpha >= 0 && page->is_multiplied) unpremultiply(pixels, count, bands);
        *image = vips_image_new_from_memory(
            pixels, count * (size_t)bands, (int)page->width, (int)page->height, bands, VIPS_FORMAT_UCHAR);
        if (!*image) problem = "";
    }
    if (problem) {
        g_free(pixels);
        return problem;
    }
    g_object_set_data_full(G_OBJECT(*image), "inflight-memory", pixels, g_free);
    (*image)->Type = colours == 1 ? VIPS_INTERPRETATION_B_W
        : colours == 3            ? VIPS_INTERPRETATION_sRGB
                                  : VIPS_INTERPRETATION_CMYK;
    uint32_t profile_length = 0;
    void *profile = NULL;
    if (TIFFGetField(page->tiff, TIFFTAG_ICCPROFILE, &profile_length, &profile)
        && profile_length <= INFLIGHT_VIPS_LARGEST_PROFILE)
        vips_image_set_blob_copy(*image, VIPS_META_ICC_NAME, profile, profile_length);
    return NULL;
}

VipsImage *inflight_tiff_decode(const uint8_t *bytes, size_t count, int number, char message[INFLIGHT_VIPS_MESSAGE]) {
    memory_file file = {bytes, count, 0};
    tiff_page page = {0};
    VipsImage *image = NULL;
    TIFF *tiff = open_page(&file, &page, number);
    const char *problem = tiff ? decode(&page, &image) : "malformed header";
    if (tiff) TIFFClose(tiff);
    if (problem && *problem) snprintf(message, INFLIGHT_VIPS_MESSAGE, "%s", problem);
    if (problem && !*problem) inflight_vips_fail(message);
    return image;
}
