#include "tiff.h"

#include <math.h>
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

enum kind {
    /// Grey, RGB, CMYK or a palette.
    PLAIN,
    YCBCR,
    /// CIE L*a*b* in integers with a* and b* around zero, the same around the middle of the range, and in floats.
    LAB,
    ICC_LAB,
    LAB_FLOATS,
    /// Floats: grey, RGB or CMYK from 0 to 1, in linear light unless there is a profile; XYZ relative to white.
    FLOATS,
    XYZ,
};

/// A page that is decoded in blocks: strips, rows of a strip, or rows of tiles.
typedef struct {
    memory_file file;
    TIFF *tiff;
    uint32_t width, height;
    uint16_t bits, samples, format, photometric, compression;
    enum kind kind;
    int is_separate, is_tiled, has_profile;
    /// The number of colour samples, the index of the alpha sample or -1, and whether the colours are premultiplied.
    int colours, alpha, is_multiplied;
    /// The decoded image: its bands, and whether their samples have 16 bits instead of 8.
    int bands, is_wide;
    /// The red, green and blue planes of the palette.
    uint16_t *palette[3];
    /// The number of YCbCr pixels that share their chroma, the coefficients of luma, and the codes of black and white.
    uint16_t across, down;
    float *luma, *reference;
    /// The number of bits of the codes of black and white.
    unsigned reference_bits;
    /// The size of a strip, or of a row of it, or of a tile; of its rows in bytes; and of all of its bytes.
    uint32_t columns, rows;
    size_t row_length, length;
    /// Whether rows are read one by one, because their strip is large.
    int is_by_row;
    /// The blocks of the current rows: one plane after the other, for each tile.
    uint8_t *blocks;
    size_t block_count;
    /// Subsampled YCbCr as it is stored.
    uint8_t *packed;
    size_t packed_length;
    /// The index of the current rows, or -1.
    int64_t current;
    /// A row of floats, and the sRGB code of each level of linear light.
    float *levels;
    uint16_t *encoded;
} tiff_page;

// The errors start with a word for `VipsMessage`. libtiff's own are in libvips's error buffer.
#define UNSUPPORTED "unsupported: "
#define DAMAGED "damaged: "

static void report(const char *module, const char *format, va_list arguments) {
    char text[INFLIGHT_VIPS_MESSAGE];
    vsnprintf(text, sizeof text, format, arguments);
    vips_error(module ? module : "libtiff", "%s", text);
}

static const char *compression_name(uint16_t compression) {
    switch (compression) {
    case 34661: return "JBIG";
    case 34663: return "JBIG2";
    case 33003:
    case 33005:
    case 34712: return "JPEG 2000";
    case 34713: return "Nikon NEF";
    case 34887: return "LERC";
    case 50000:
    case 34926: return "Zstandard";
    case 50001:
    case 34927: return "WebP";
    case 50002:
    case 52546: return "JPEG XL";
    case 34892: return "lossy JPEG";
    default: return NULL;
    }
}

static int is_fax(uint16_t compression) {
    switch (compression) {
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4: return 1;
    default: return 0;
    }
}

static const char *check_compression(const tiff_page *page, char *text, size_t room) {
    // The library would decode a part of each row.
    if (is_fax(page->compression) && (page->bits != 1 || (page->samples != 1 && !page->is_separate)))
        return UNSUPPORTED "CCITT compression of other than one bit per pixel";
    if (TIFFIsCODECConfigured(page->compression)) return NULL;
    const char *name = compression_name(page->compression);
    if (name) {
        snprintf(text, room, UNSUPPORTED "%s compression", name);
    } else {
        snprintf(text, room, UNSUPPORTED "compression scheme %u", page->compression);
    }
    return text;
}

/// Guesses a missing photometric interpretation like libtiff's own viewer.
static uint16_t guess_photometric(const tiff_page *page, int colours) {
    if (colours >= 3) return PHOTOMETRIC_RGB;
    return is_fax(page->compression) ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
}

static const char *read_luma(tiff_page *page) {
    TIFFGetFieldDefaulted(page->tiff, TIFFTAG_YCBCRSUBSAMPLING, &page->across, &page->down);
    for (int i = 0; i < 2; i++) {
        unsigned factor = i == 0 ? page->across : page->down;
        if (factor != 1 && factor != 2 && factor != 4) return DAMAGED "its chroma subsampling is invalid";
    }
    if (page->across * page->down > 1) {
        if (page->is_separate) return UNSUPPORTED "subsampled chroma in separate planes";
        if (page->samples != 3 || page->bits != 8)
            return UNSUPPORTED "subsampled chroma with other than three samples of 8 bits";
    }
    // The library's default is for 8 bits, whatever the depth of the page.
    page->reference_bits = TIFFGetField(page->tiff, TIFFTAG_REFERENCEBLACKWHITE, &page->reference) ? page->bits : 8;
    if (!TIFFGetFieldDefaulted(page->tiff, TIFFTAG_YCBCRCOEFFICIENTS, &page->luma)
        || !TIFFGetFieldDefaulted(page->tiff, TIFFTAG_REFERENCEBLACKWHITE, &page->reference))
        return DAMAGED "its YCbCr coefficients are missing";
    for (int i = 0; i < 3; i++) {
        float range = page->reference[2 * i + 1] - page->reference[2 * i];
        if (!isfinite(page->luma[i]) || !isfinite(range) || range == 0)
            return DAMAGED "its YCbCr coefficients are invalid";
    }
    return page->luma[1] == 0 ? DAMAGED "its YCbCr coefficients are invalid" : NULL;
}

/// Sets the kind and the number of colours, and checks that the samples fit them.
static const char *read_colours(tiff_page *page) {
    TIFF *tiff = page->tiff;
    uint16_t inks = INKSET_CMYK;
    page->across = page->down = 1;
    switch (page->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MASK:
    case PHOTOMETRIC_PALETTE: page->colours = 1; break;
    case PHOTOMETRIC_SEPARATED:
        page->colours = 4;
        TIFFGetFieldDefaulted(tiff, TIFFTAG_INKSET, &inks);
        if (inks != INKSET_CMYK) return UNSUPPORTED "inks other than CMYK";
        break;
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
        page->colours = page->photometric == PHOTOMETRIC_LOGL ? 1 : 3;
        if (page->compression != COMPRESSION_SGILOG && page->compression != COMPRESSION_SGILOG24)
            return UNSUPPORTED "LogLuv colours in another compression than SGILog";
        // The library's data has other depths than the file declares.
        if (!TIFFSetField(tiff, TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT)) return "";
        TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page->bits);
        page->format = SAMPLEFORMAT_IEEEFP;
        break;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR:
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB: page->colours = 3; break;
    case PHOTOMETRIC_CFA: return UNSUPPORTED "raw data of a camera";
    default: return UNSUPPORTED "its colour model";
    }
    if (page->samples < page->colours) return DAMAGED "it has fewer samples than its colour model needs";
    int is_float = page->format == SAMPLEFORMAT_IEEEFP;
    if (is_float && page->bits != 16 && page->bits != 24 && page->bits != 32)
        return page->bits == 64 ? UNSUPPORTED "floating-point samples of 64 bits"
                                : UNSUPPORTED "floating-point samples of an uncommon depth";
    if (!is_float && (page->bits == 0 || (page->bits > 16 && page->bits != 32)))
        return UNSUPPORTED "integer samples of more than 16 bits, other than 32";
    if (page->format > SAMPLEFORMAT_VOID) return UNSUPPORTED "complex samples";
    switch (page->photometric) {
    case PHOTOMETRIC_PALETTE:
        if (page->bits > 16 || is_float) return UNSUPPORTED "a palette with more than 16 bits";
        if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &page->palette[0], &page->palette[1], &page->palette[2]))
            return DAMAGED "its palette is missing";
        break;
    case PHOTOMETRIC_YCBCR:
        if (is_float) return UNSUPPORTED "YCbCr colours in floating-point samples";
        if (page->compression == COMPRESSION_JPEG && !page->is_separate) {
            // libjpeg converts to RGB.
            if (!TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB)) return "";
            break;
        }
        page->kind = YCBCR;
        return read_luma(page);
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
        if (!is_float && page->bits != 8 && page->bits != 16) return UNSUPPORTED "L*a*b* colours of uncommon depth";
        page->kind = is_float ? LAB_FLOATS : page->photometric == PHOTOMETRIC_CIELAB ? LAB : ICC_LAB;
        return NULL;
    case PHOTOMETRIC_LOGLUV: page->kind = XYZ; return NULL;
    }
    if (is_float) page->kind = FLOATS;
    return NULL;
}

/// Returns whether the compression stores rows that can be decoded one after the other.
static int has_rows(uint16_t compression) {
    switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_ZSTD:
    case COMPRESSION_LZMA:
    case COMPRESSION_JPEG: return 1;
    default: return 0;
    }
}

/// The size of a strip in bytes above which its rows are read one by one.
enum { LARGE_STRIP = 1 << 20 };

/// Sets the sizes of blocks.
static const char *read_blocks(tiff_page *page) {
    page->columns = page->width;
    if (page->is_tiled) {
        page->columns = page->rows = 0;
        TIFFGetField(page->tiff, TIFFTAG_TILEWIDTH, &page->columns);
        TIFFGetField(page->tiff, TIFFTAG_TILELENGTH, &page->rows);
    } else {
        TIFFGetFieldDefaulted(page->tiff, TIFFTAG_ROWSPERSTRIP, &page->rows);
        if (page->rows > page->height) page->rows = page->height;
    }
    if (page->columns == 0 || page->rows == 0) return DAMAGED "its strips or tiles have no size";
    // Products of these are below 2 to the power of 62.
    if (page->columns > INT32_MAX || page->rows > INT32_MAX) return DAMAGED "its strips or tiles are too large";
    size_t step = page->is_separate ? 1 : page->samples;
    page->row_length = ((uint64_t)page->columns * step * page->bits + 7) / 8;
    int is_subsampled = page->across * page->down > 1;
    page->is_by_row = !page->is_tiled && !page->is_separate && !is_subsampled && has_rows(page->compression)
        && page->row_length > LARGE_STRIP / page->rows;
    if (page->is_by_row) page->rows = 1;
    size_t planes = !page->is_separate ? 1 : (size_t)page->colours + (page->alpha >= 0);
    page->block_count = planes * ((page->width - 1) / page->columns + 1);
    if (__builtin_mul_overflow(page->row_length, page->rows, &page->length)
        || page->length > SIZE_MAX / 2 / page->block_count)
        return DAMAGED "its strips or tiles are too large";
    if (is_subsampled) {
        size_t units = (page->columns - 1) / page->across + 1, rows = (page->rows - 1) / page->down + 1;
        if (__builtin_mul_overflow(units * (page->across * page->down + 2u), rows, &page->packed_length))
            return DAMAGED "its strips or tiles are too large";
    }
    return NULL;
}

/// Reads the tags of the current directory. Returns an error, or `NULL`.
static const char *read_page(tiff_page *page, char *text, size_t room) {
    TIFF *tiff = page->tiff;
    uint16_t extra_count = 0, *extras = NULL, planes = PLANARCONFIG_CONTIG;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page->width)
        || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page->height) || page->width == 0 || page->height == 0
        || page->width > INT32_MAX || page->height > INT32_MAX)
        return DAMAGED "its size is missing";
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &page->compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extras);
    page->is_tiled = TIFFIsTiled(tiff);
    page->is_separate = planes == PLANARCONFIG_SEPARATE && page->samples > 1;
    const char *problem = check_compression(page, text, room);
    if (problem) return problem;
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page->photometric)) {
        // Without a photometric interpretation, libtiff counts colours as unspecified extra samples. Only alpha is
        // certainly not a colour.
        int colours = page->samples;
        for (int i = 0; i < extra_count; i++)
            colours -= extras[i] == EXTRASAMPLE_ASSOCALPHA || extras[i] == EXTRASAMPLE_UNASSALPHA;
        page->photometric = guess_photometric(page, colours);
    }
    problem = read_colours(page);
    if (problem) return problem;
    page->alpha = -1;
    for (int i = 0; i < extra_count && page->colours + i < page->samples && page->alpha < 0; i++) {
        if (extras[i] != EXTRASAMPLE_ASSOCALPHA && extras[i] != EXTRASAMPLE_UNASSALPHA) continue;
        page->alpha = page->colours + i;
        page->is_multiplied = extras[i] == EXTRASAMPLE_ASSOCALPHA;
    }
    int is_palette = page->photometric == PHOTOMETRIC_PALETTE;
    page->bands = (is_palette ? 3 : page->colours) + (page->alpha >= 0);
    page->is_wide = !is_palette && (page->bits > 8 || page->kind > YCBCR);
    return read_blocks(page);
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

/// Returns the floating-point sample of 16, 24 or 32 bits at `index` in a row, in the byte order of the machine.
static float real(const uint8_t *row, size_t index, unsigned bits) {
    uint32_t value = 0;
    float result;
    if (bits == 32) {
        memcpy(&result, row + index * 4, 4);
        return result;
    }
    unsigned fraction = bits == 16 ? 10 : 16, exponents = bits == 16 ? 5 : 7;
    memcpy(&value, row + index * (bits / 8), bits / 8);
    int exponent = (int)(value >> fraction & ((1u << exponents) - 1)), most = (1 << exponents) - 1;
    float digits = (float)(value & ((1u << fraction) - 1)) / (float)(1u << fraction);
    result = exponent == most ? (digits > 0 ? NAN : INFINITY)
        : exponent == 0       ? ldexpf(digits, 1 - most / 2)
                              : ldexpf(1 + digits, exponent - most / 2);
    return value >> (bits - 1) ? -result : result;
}

/// Scales a sample to the output, from the minimum to the maximum of its type. Zero of a signed type becomes mid-grey.
static uint32_t level(const tiff_page *page, uint32_t value) {
    if (page->format == SAMPLEFORMAT_INT) value ^= 1u << (page->bits - 1);
    uint32_t most = page->is_wide ? 65535 : 255;
    // Shifting keeps 16 bits of 32. A palette, whose levels have 8 bits, may have an alpha of up to 16.
    if (page->bits == 32) return value >> 16;
    uint32_t full = (1u << page->bits) - 1;
    return full == most ? value : (uint32_t)(((uint64_t)value * most + full / 2) / full);
}

/// Returns a sample of the kinds of pixels that are converted in floats: see ``kind``.
static float number(const tiff_page *page, const uint8_t *row, int band, size_t index) {
    if (page->format == SAMPLEFORMAT_IEEEFP) {
        float value = real(row, index, page->bits);
        return isfinite(value) ? value : value > 0 ? 1e6f : 0;
    }
    uint32_t value = sample(row, index, page->bits);
    if (band >= page->colours) return (float)value / (page->bits == 8 ? 255.0f : 65535.0f);
    float whole = (float)value / (page->bits == 8 ? 1.0f : 256.0f);
    if (page->kind == ICC_LAB) return band == 0 ? whole * 100 / 255 : whole - 128;
    if (band == 0) return (float)value * 100 / (page->bits == 8 ? 255.0f : 65535.0f);
    return whole < 128 ? whole : whole - 256;
}

static void put(const tiff_page *page, void *row, size_t index, uint32_t value) {
    if (page->is_wide) {
        ((uint16_t *)row)[index] = (uint16_t)value;
    } else {
        ((uint8_t *)row)[index] = (uint8_t)value;
    }
}

static uint32_t get(const tiff_page *page, const void *row, size_t index) {
    return page->is_wide ? ((const uint16_t *)row)[index] : ((const uint8_t *)row)[index];
}

/// Writes a sample of each pixel in one row of a block to its place in the output. `first` is the index of the first
/// one in the row, and `step` the distance to the next, in samples.
static void write_samples(
    const tiff_page *page, const uint8_t *row, int number_of_sample, size_t first, size_t step, uint32_t x,
    uint32_t columns, void *to) {
    int is_alpha = number_of_sample == page->alpha;
    size_t place = (size_t)x * (size_t)page->bands + (size_t)(is_alpha ? page->bands - 1 : number_of_sample);
    size_t bands = (size_t)page->bands;
    if (page->kind > YCBCR) {
        for (uint32_t i = 0; i < columns; i++, place += bands)
            page->levels[place] = number(page, row, number_of_sample, first + i * step);
    } else if (page->photometric == PHOTOMETRIC_PALETTE && !is_alpha) {
        for (uint32_t i = 0; i < columns; i++, place += bands) {
            uint32_t value = sample(row, first + i * step, page->bits);
            for (size_t c = 0; c < 3; c++) put(page, to, place + c, page->palette[c][value] >> 8);
        }
    } else {
        uint32_t most = page->is_wide ? 65535 : 255;
        uint32_t flip = page->photometric == PHOTOMETRIC_MINISWHITE && !is_alpha ? most : 0;
        for (uint32_t i = 0; i < columns; i++, place += bands)
            put(page, to, place, level(page, sample(row, first + i * step, page->bits)) ^ flip);
    }
}

/// Converts YCbCr to RGB (TIFF 6.0 section 21).
static void convert_ycbcr(const tiff_page *page, void *row) {
    uint32_t full = page->is_wide ? 65535 : 255;
    float most = (float)full;
    float scale = most / (float)(page->reference_bits == 32 ? UINT32_MAX : (1u << page->reference_bits) - 1);
    float black[3], range[3];
    for (int i = 0; i < 3; i++) {
        black[i] = page->reference[2 * i] * scale;
        range[i] = (i == 0 ? most : most * 127 / 255) / (page->reference[2 * i + 1] * scale - black[i]);
    }
    float red = page->luma[0], green = page->luma[1], blue = page->luma[2];
    for (size_t i = 0; i < (size_t)page->width * (size_t)page->bands; i += (size_t)page->bands) {
        float y = ((float)get(page, row, i) - black[0]) * range[0];
        float cb = ((float)get(page, row, i + 1) - black[1]) * range[1];
        float cr = ((float)get(page, row, i + 2) - black[2]) * range[2];
        float r = y + cr * (2 - 2 * red), b = y + cb * (2 - 2 * blue);
        float colours[3] = {r, (y - blue * b - red * r) / green, b};
        for (size_t c = 0; c < 3; c++) {
            float value = colours[c] + 0.5f;
            put(page, row, i + c, !(value > 0) ? 0 : value >= most ? full : (uint32_t)value);
        }
    }
}

static void unpremultiply(const tiff_page *page, void *row) {
    size_t bands = (size_t)page->bands;
    uint32_t most = page->is_wide ? 65535 : 255;
    for (size_t i = 0; i < (size_t)page->width * bands; i += bands) {
        uint32_t alpha = get(page, row, i + bands - 1);
        for (size_t c = 0; c < bands - 1; c++) {
            uint64_t value = get(page, row, i + c);
            uint64_t straight = alpha == 0 ? 0 : (value * most + alpha / 2) / alpha;
            put(page, row, i + c, straight > most ? most : (uint32_t)straight);
        }
    }
}

static float linear_of_lab(float f) { return f > 6.0f / 29 ? f * f * f : (f - 4.0f / 29) * 3 * 36 / 841; }

/// Converts L*a*b* or XYZ, relative to a white of the same coordinates as sRGB's, to linear light.
static void convert_cie(const tiff_page *page, float *colours) {
    float x = colours[0], y = colours[1], z = colours[2];
    if (page->kind != XYZ) {
        float f = (colours[0] + 16) / 116;
        x = linear_of_lab(f + colours[1] / 500);
        y = linear_of_lab(f);
        z = linear_of_lab(f - colours[2] / 200);
    }
    x *= 0.95047f;
    z *= 1.08883f;
    colours[0] = 3.2404542f * x - 1.5371385f * y - 0.4985314f * z;
    colours[1] = -0.9692660f * x + 1.8760108f * y + 0.0415560f * z;
    colours[2] = 0.0556434f * x - 0.2040259f * y + 1.0572252f * z;
}

static uint16_t rounded(float value) {
    return !(value > 0) ? 0 : value >= 1 ? 65535 : (uint16_t)(value * 65535 + 0.5f);
}

/// Converts a row of floats to samples of 16 bits: encoded for sRGB, unless there is a profile for them or they are
/// inks.
static void convert_levels(const tiff_page *page, uint16_t *row) {
    size_t bands = (size_t)page->bands, colours = (size_t)page->colours;
    int is_linear = page->kind != FLOATS || (!page->has_profile && colours < 4);
    for (size_t i = 0; i < (size_t)page->width * bands; i += bands) {
        float *values = page->levels + i;
        float alpha = page->alpha < 0 ? 1 : values[colours];
        for (size_t c = 0; c < colours; c++) {
            if (page->is_multiplied) values[c] = alpha > 0 ? values[c] / alpha : 0;
            if (page->photometric == PHOTOMETRIC_MINISWHITE) values[c] = 1 - values[c];
        }
        if (page->kind != FLOATS) convert_cie(page, values);
        for (size_t c = 0; c < colours; c++)
            row[i + c] = is_linear ? page->encoded[rounded(values[c])] : rounded(values[c]);
        if (page->alpha >= 0) row[i + colours] = rounded(alpha);
    }
}

/// Unpacks subsampled YCbCr, of which each unit holds the luma of several pixels and one Cb and Cr.
static void unpack_ycbcr(const tiff_page *page, uint8_t *block, uint32_t rows) {
    size_t across = page->across, down = page->down, unit = across * down + 2;
    size_t units = (page->columns - 1) / across + 1;
    for (uint32_t y = 0; y < rows; y++) {
        const uint8_t *from = page->packed + y / down * units * unit;
        uint8_t *to = block + y * page->row_length;
        for (uint32_t x = 0; x < page->columns; x++, to += 3) {
            const uint8_t *here = from + x / across * unit;
            to[0] = here[y % down * across + x % across];
            memcpy(to + 1, here + across * down, 2);
        }
    }
}

static tmsize_t read_encoded(tiff_page *page, uint32_t x, uint32_t y, uint16_t plane, uint8_t *target, size_t length) {
    // What a decoder does not write is white or black, and not a part of another block.
    memset(target, 0, length);
    return page->is_tiled
        ? TIFFReadEncodedTile(page->tiff, TIFFComputeTile(page->tiff, x, y, 0, plane), target, (tmsize_t)length)
        : TIFFReadEncodedStrip(page->tiff, TIFFComputeStrip(page->tiff, y, plane), target, (tmsize_t)length);
}

static int is_blank(const uint8_t *bytes, size_t count) {
    return count == 0 || (bytes[0] == 0 && !memcmp(bytes, bytes + 1, count - 1));
}

/// Makes the library decode Group 3 data that lacks the codes at the ends of lines. Returns whether it can.
static int omit_line_ends(tiff_page *page) {
    uint32_t options = 0;
    if (page->compression != COMPRESSION_CCITTFAX3) return 0;
    TIFFGetFieldDefaulted(page->tiff, TIFFTAG_GROUP3OPTIONS, &options);
    if (options & GROUP3OPT_2DENCODING) return 0;
    // Modified Huffman coding has the same run lengths. Its lines would end with whole bytes.
    page->compression = COMPRESSION_CCITTRLE;
    return TIFFSetField(page->tiff, TIFFTAG_COMPRESSION, page->compression)
        && TIFFSetField(page->tiff, TIFFTAG_FAXMODE, FAXMODE_NORTC | FAXMODE_NOEOL);
}

/// Reads a block that starts at column `x` and row `y` and has `rows` rows. Returns an error, or `NULL`.
static const char *read_block(
    tiff_page *page, uint32_t x, uint32_t y, uint16_t plane, uint32_t rows, uint8_t *block) {
    if (page->is_by_row) return TIFFReadScanline(page->tiff, block, y, plane) < 0 ? "" : NULL;
    int is_subsampled = page->across * page->down > 1;
    uint8_t *target = is_subsampled ? page->packed : block;
    size_t length = is_subsampled ? page->packed_length : page->length;
    size_t needed = is_subsampled ? page->packed_length / ((page->rows - 1) / page->down + 1)
            * ((rows - 1) / page->down + 1)
                                  : page->row_length * rows;
    tmsize_t found = read_encoded(page, x, y, plane, target, length);
    if (found < 0) {
        int is_nothing = is_blank(target, needed);
        if (is_nothing && omit_line_ends(page)) {
            if (read_encoded(page, x, y, plane, target, length) < 0) return "";
        } else if (is_nothing || (!is_fax(page->compression) && page->compression != COMPRESSION_THUNDERSCAN)) {
            return "";
        }
        // Lines that end early are shown up to there, as by all viewers: they are legible whatever follows, and
        // encoders often miscount them.
    } else if ((size_t)found < needed) {
        return DAMAGED "a strip or tile is too short";
    }
    if (is_subsampled) unpack_ycbcr(page, block, rows);
    return NULL;
}

/// Returns the sample of a plane of blocks, of which there are as many as colours and alpha.
static uint16_t sample_of_plane(const tiff_page *page, int plane) {
    return (uint16_t)(plane < page->colours ? plane : page->alpha);
}

/// Reads the blocks of row `y`, if they are not the current ones.
static const char *read_rows(tiff_page *page, uint32_t y) {
    int64_t index = y / page->rows;
    if (page->current == index) return NULL;
    page->current = -1;
    uint32_t top = (uint32_t)index * page->rows;
    uint32_t rows = page->height - top < page->rows ? page->height - top : page->rows;
    uint8_t *block = page->blocks;
    int planes = page->is_separate ? page->colours + (page->alpha >= 0) : 1;
    for (uint64_t x = 0; x < page->width; x += page->columns) {
        for (int plane = 0; plane < planes; plane++, block += page->length) {
            uint16_t number = page->is_separate ? sample_of_plane(page, plane) : 0;
            const char *problem = read_block(page, (uint32_t)x, top, number, rows, block);
            if (problem) return problem;
        }
    }
    page->current = index;
    return NULL;
}

/// Returns whether rows of strips are those of the decoded image.
static int is_ready(const tiff_page *page) {
    return page->kind == PLAIN && page->bits == (page->is_wide ? 16 : 8) && page->format != SAMPLEFORMAT_INT
        && page->photometric != PHOTOMETRIC_PALETTE && page->photometric != PHOTOMETRIC_MINISWHITE
        && !page->is_tiled && !page->is_separate && page->samples == page->bands;
}

static void convert_row(tiff_page *page, uint32_t y, void *to) {
    const uint8_t *block = page->blocks + y % page->rows * page->row_length;
    if (is_ready(page)) {
        memcpy(to, block, page->row_length);
    } else {
        for (uint64_t x = 0; x < page->width; x += page->columns) {
            uint32_t left = page->width - (uint32_t)x, width = left < page->columns ? left : page->columns;
            for (int plane = 0; plane < page->colours + (page->alpha >= 0); plane++) {
                int number = sample_of_plane(page, plane);
                size_t step = page->is_separate ? 1 : page->samples;
                write_samples(
                    page, block, number, page->is_separate ? 0 : (size_t)number, step, (uint32_t)x, width, to);
                if (page->is_separate) block += page->length;
            }
            if (!page->is_separate) block += page->length;
        }
    }
    if (page->kind > YCBCR) {
        convert_levels(page, to);
    } else {
        if (page->kind == YCBCR) convert_ycbcr(page, to);
        if (page->alpha >= 0 && page->is_multiplied) unpremultiply(page, to);
    }
}

/// Fills a region of the image, whose width is that of the image.
static int generate(VipsRegion *region, void *sequence, void *page, void *unused, gboolean *stop) {
    (void)sequence, (void)unused, (void)stop;
    for (int y = region->valid.top; y < VIPS_RECT_BOTTOM(&region->valid); y++) {
        const char *problem = region->valid.left == 0 ? read_rows(page, (uint32_t)y) : DAMAGED "an incomplete row";
        if (problem) {
            if (*problem) vips_error("TIFF", "%s", problem);
            return -1;
        }
        convert_row(page, (uint32_t)y, VIPS_REGION_ADDR(region, 0, y));
    }
    return 0;
}

/// Some old programs write palettes with 8-bit values instead of 16-bit values.
static void widen_palette(const tiff_page *page) {
    for (int i = 0; i < 3; i++)
        for (size_t index = 0; index < (size_t)1 << page->bits; index++)
            if (page->palette[i][index] > 255) return;
    for (int i = 0; i < 3; i++)
        for (size_t index = 0; index < (size_t)1 << page->bits; index++) page->palette[i][index] *= 257;
}

static int allocate(tiff_page *page) {
    page->blocks = g_try_malloc(page->length * page->block_count);
    int is_missing = !page->blocks;
    if (page->packed_length > 0) is_missing |= !(page->packed = g_try_malloc(page->packed_length));
    if (page->kind > YCBCR) {
        is_missing |= !(page->levels = g_try_malloc_n((size_t)page->width * (size_t)page->bands, sizeof(float)));
        is_missing |= !(page->encoded = g_try_malloc_n(65536, sizeof *page->encoded));
        for (int i = 0; i < 65536 && page->encoded; i++) {
            float value = (float)i / 65535;
            value = value <= 0.0031308f ? 12.92f * value : 1.055f * powf(value, 1 / 2.4f) - 0.055f;
            page->encoded[i] = (uint16_t)(value * 65535 + 0.5f);
        }
    }
    return is_missing ? -1 : 0;
}

static void free_page(void *memory) {
    tiff_page *page = memory;
    if (page->tiff) TIFFClose(page->tiff);
    g_free(page->blocks);
    g_free(page->packed);
    g_free(page->levels);
    g_free(page->encoded);
    g_free(page);
}

static const char *open_page(tiff_page *page, int number, char *text, size_t room) {
    page->current = -1;
    page->tiff = TIFFClientOpen(
        "", "rm", &page->file, read_bytes, write_bytes, seek, close_file, size, NULL, NULL);
    if (!page->tiff || !TIFFSetDirectory(page->tiff, (tdir_t)number)) return "";
    const char *problem = read_page(page, text, room);
    if (problem) return problem;
    uint32_t length = 0;
    void *profile = NULL;
    page->has_profile = page->kind <= YCBCR || page->kind == FLOATS
        ? TIFFGetField(page->tiff, TIFFTAG_ICCPROFILE, &length, &profile) && length <= INFLIGHT_VIPS_LARGEST_PROFILE
        : 0;
    return NULL;
}

static VipsInterpretation interpretation(const tiff_page *page) {
    switch (page->bands - (page->alpha >= 0)) {
    case 1: return page->is_wide ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_B_W;
    case 3: return page->is_wide ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB;
    default: return VIPS_INTERPRETATION_CMYK;
    }
}

VipsImage *inflight_tiff_open(const uint8_t *bytes, size_t count, int number, char message[INFLIGHT_VIPS_MESSAGE]) {
    char text[80];
    TIFFSetErrorHandler(report);
    TIFFSetWarningHandler(NULL);
    tiff_page *page = g_new0(tiff_page, 1);
    page->file = (memory_file){bytes, count, 0};
    const char *problem = open_page(page, number, text, sizeof text);
    VipsImage *image = problem ? NULL : vips_image_new();
    if (!image) {
        if (problem && *problem) snprintf(message, INFLIGHT_VIPS_MESSAGE, "%s", problem);
        if (!problem || !*problem) inflight_vips_fail(message);
        free_page(page);
        return NULL;
    }
    g_object_set_data_full(G_OBJECT(image), "inflight-tiff", page, free_page);
    vips_image_init_fields(
        image, (int)page->width, (int)page->height, page->bands,
        page->is_wide ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR, VIPS_CODING_NONE, interpretation(page), 1, 1);
    uint32_t length = 0;
    void *profile = NULL;
    if (page->has_profile && TIFFGetField(page->tiff, TIFFTAG_ICCPROFILE, &length, &profile))
        vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
    return image;
}

int inflight_tiff_start(VipsImage *image, char message[INFLIGHT_VIPS_MESSAGE]) {
    tiff_page *page = g_object_get_data(G_OBJECT(image), "inflight-tiff");
    if (allocate(page)) {
        snprintf(message, INFLIGHT_VIPS_MESSAGE, "out of memory");
        return INFLIGHT_VIPS_FAILED;
    }
    if (page->photometric == PHOTOMETRIC_PALETTE) widen_palette(page);
    if (vips_image_pipelinev(image, VIPS_DEMAND_STYLE_THINSTRIP, NULL)
        || vips_image_generate(image, NULL, generate, NULL, page, NULL))
        return inflight_vips_fail(message);
    return INFLIGHT_VIPS_OK;
}
