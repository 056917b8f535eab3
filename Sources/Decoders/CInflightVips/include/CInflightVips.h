#pragma once

#if !__has_include(<vips/vips.h>)
#error "libvips 8.14 or later is missing: install the Debian package libvips-dev"
#endif
#if !__has_include(<tiffio.h>)
#error "libtiff 4 is missing: install the Debian package libtiff-dev"
#endif
#if !__has_include(<jxl/decode.h>)
#error "libjxl 0.7 or later is missing: install the Debian package libjxl-dev"
#endif

// A narrow interface to libvips, whose API consists of variadic functions and macros, to libjxl and to libtiff. It has
// no global state of its own. Each `inflight_vips_reader` must be used on one thread only.

#include <stddef.h>
#include <stdint.h>

enum {
    INFLIGHT_VIPS_OK = 0,
    INFLIGHT_VIPS_FAILED = 1,
};

enum { INFLIGHT_VIPS_MESSAGE = 1024 };

/// The loader that reads the bytes. The caller always chooses it; formats are not detected from the bytes.
enum { INFLIGHT_VIPS_HEIF, INFLIGHT_VIPS_JXL, INFLIGHT_VIPS_TIFF, INFLIGHT_VIPS_SVG };

typedef struct inflight_vips_reader inflight_vips_reader;

/// Initialises libvips, once per process, and blocks all of its loaders except HEIF and SVG from memory.
int inflight_vips_start(char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

enum {
    INFLIGHT_VIPS_LOADS_HEIF = 1,
    INFLIGHT_VIPS_LOADS_SVG = 2,
    INFLIGHT_VIPS_SAVES_HEIF = 4,
    INFLIGHT_VIPS_DECODES_AV1 = 8,
    INFLIGHT_VIPS_DECODES_HEVC = 16,
    INFLIGHT_VIPS_ENCODES_AV1 = 32,
};

/// Returns the sum of the abilities that libvips was built with and whose codecs are installed. Call it after
/// `inflight_vips_start`.
unsigned inflight_vips_abilities(void);

enum {
    INFLIGHT_VIPS_DRAWS_GIF = 1,
    INFLIGHT_VIPS_DRAWS_BMP = 2,
    INFLIGHT_VIPS_DRAWS_WEBP = 4,
    INFLIGHT_VIPS_DRAWS_SVG = 8,
};

/// Returns the sum of the formats that SVG documents can embed, besides PNG and JPEG. Call it after
/// `inflight_vips_start`.
unsigned inflight_vips_drawn_images(void);

/// Returns whether libvips would detect the format of the bytes and load them. For tests of the blocked loaders.
int inflight_vips_sniffs(const uint8_t *_Nonnull bytes, size_t count);

/// Reads the header. The bytes must outlive the reader. Returns `NULL` on failure.
inflight_vips_reader *_Nullable inflight_vips_open(
    const uint8_t *_Nonnull bytes, size_t count, int loader, int page, int *_Nonnull width, int *_Nonnull height,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// The samples of a HEIF image.
typedef struct {
    /// The number of bits per sample. libvips returns more than 8 as the highest bits of 16-bit samples.
    int bits;
    /// Whether the samples have limited range, and are to be scaled to full range.
    int needs_range;
} inflight_heif_layer;

/// How a HEIF image, of which a reader has the colours, is assembled.
typedef struct {
    inflight_heif_layer colour;
    /// A file with the alpha, which must outlive the reader; `NULL` if there is none.
    const uint8_t *_Nullable alpha_bytes;
    size_t alpha_count;
    inflight_heif_layer alpha;
    /// Whether the colours are multiplied by alpha.
    int is_premultiplied;
    /// The part to keep, which must be inside the image.
    int left, top, width, height;
} inflight_heif;

/// Assembles an image that was opened with INFLIGHT_VIPS_HEIF, which then has the size of the part to keep. Returns a
/// status.
int inflight_vips_assemble(
    inflight_vips_reader *_Nonnull reader, const inflight_heif *_Nonnull heif,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Prepares the conversion of pixels to sRGB.
///
/// - has_alpha: whether to keep alpha.
/// - bits: the number of bits per sample of a HEIF image. Above 8, they are the highest bits of 16-bit samples.
/// - is_display_p3: whether the colours are Display P3 if the image has no profile.
int inflight_vips_prepare(
    inflight_vips_reader *_Nonnull reader, int has_alpha, int bits, int is_display_p3,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Reads rows of four bytes per pixel: red, green, blue, and straight alpha or 255. Rows must be read from top to
/// bottom.
int inflight_vips_read_rows(
    inflight_vips_reader *_Nonnull reader, int first, int count, uint8_t *_Nonnull rows,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Decodes all frames of a JPEG XL image and discards them. There is no cheaper way to find the end of a codestream.
int inflight_jxl_check(
    const uint8_t *_Nonnull bytes, size_t count, char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

void inflight_vips_close(inflight_vips_reader *_Nonnull reader);

/// Encodes pixels of four bytes, in rows without padding, as AVIF. Free `*bytes` with `inflight_vips_free`.
int inflight_vips_write_avif(
    const uint8_t *_Nonnull pixels, int width, int height, int has_alpha, int quality,
    uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

void inflight_vips_free(void *_Nullable memory);
