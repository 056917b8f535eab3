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

// One narrow door to libvips, where things are variadic or macros, and to libjxl. Nothing is kept between calls but
// what the library itself keeps; each picture is confined to one thread.

#include <stddef.h>
#include <stdint.h>

enum {
    INFLIGHT_VIPS_OK = 0,
    INFLIGHT_VIPS_FAILED = 1,
};

enum { INFLIGHT_VIPS_MESSAGE = 256 };

/// Which loader reads the bytes: none is found by looking at them.
enum { INFLIGHT_VIPS_HEIF, INFLIGHT_VIPS_JXL, INFLIGHT_VIPS_TIFF, INFLIGHT_VIPS_SVG };

typedef struct inflight_vips_picture inflight_vips_picture;

/// Starts the library, once in a process, and blocks all loaders but those of HEIF, TIFF and SVG in memory.
int inflight_vips_start(char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

enum {
    INFLIGHT_VIPS_LOADS_HEIF = 1,
    INFLIGHT_VIPS_LOADS_TIFF = 2,
    INFLIGHT_VIPS_LOADS_SVG = 4,
    INFLIGHT_VIPS_SAVES_HEIF = 8,
    INFLIGHT_VIPS_DECODES_AV1 = 16,
    INFLIGHT_VIPS_DECODES_HEVC = 32,
    INFLIGHT_VIPS_ENCODES_AV1 = 64,
};

/// What the library was built with, and has found, of these: their sum. Once it was started.
unsigned inflight_vips_abilities(void);

/// Whether the library would load the bytes by looking at them. For tests of what is blocked.
int inflight_vips_sniffs(const uint8_t *_Nonnull bytes, size_t count);

/// Reads the header. The bytes have to outlive the picture. `NULL` where that fails.
inflight_vips_picture *_Nullable inflight_vips_open(
    const uint8_t *_Nonnull bytes, size_t count, int loader, int page, int *_Nonnull width, int *_Nonnull height,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Makes ready to give pixels in sRGB. `bits`: how many of a sample's 16 a HEIF picture uses, from the
/// highest on. `is_display_p3`: its colours are those of Display P3, where no profile says more.
int inflight_vips_prepare(
    inflight_vips_picture *_Nonnull picture, int has_alpha, int bits, int is_display_p3,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Gives rows of four bytes a pixel: red, green, blue, straight alpha or 255. To be asked from top to bottom.
int inflight_vips_read_rows(
    inflight_vips_picture *_Nonnull picture, int first, int count, uint8_t *_Nonnull rows,
    char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

/// Decodes all frames of a JPEG XL picture and keeps nothing: the end of a codestream is not found otherwise.
int inflight_jxl_check(
    const uint8_t *_Nonnull bytes, size_t count, char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

void inflight_vips_close(inflight_vips_picture *_Nonnull picture);

/// Writes an AVIF file from pixels of four bytes without gaps. `*bytes` is for `inflight_vips_free`.
int inflight_vips_write_avif(
    const uint8_t *_Nonnull pixels, int width, int height, int has_alpha, int quality,
    uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull INFLIGHT_VIPS_MESSAGE]);

void inflight_vips_free(void *_Nullable memory);
