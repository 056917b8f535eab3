#pragma once

#if !__has_include(<jpeglib.h>)
#error "libjpeg-turbo is missing: install the Debian package libjpeg-dev"
#endif
#if !__has_include(<png.h>)
#error "libpng 1.6 is missing: install the Debian package libpng-dev"
#endif
#if !__has_include(<webp/decode.h>)
#error "libwebp is missing: install the Debian package libwebp-dev"
#endif
#if !__has_include(<gif_lib.h>)
#error "giflib 5 is missing: install the Debian package libgif-dev"
#endif
#if !__has_include(<lcms2.h>)
#error "Little CMS 2 is missing: install the Debian package liblcms2-dev"
#endif
#if !__has_include(<zlib.h>)
#error "zlib is missing: install the Debian package zlib1g-dev"
#endif

// A narrow, row-wise interface to each library. libjpeg and libpng report errors by longjmp. The functions here catch
// these and return a status and a text, so that no jump crosses a caller's frame.

#include <stddef.h>
#include <stdint.h>

enum {
    INFLIGHT_OK = 0,
    INFLIGHT_DAMAGED = 1,
    INFLIGHT_CANCELLED = 2,
    INFLIGHT_NO_MEMORY = 3,
};

/// Called repeatedly while a function works. A result other than zero stops it with INFLIGHT_CANCELLED.
typedef int (*inflight_is_cancelled)(const void *_Nullable context);

// MARK: JPEG

typedef struct inflight_jpeg_reader inflight_jpeg_reader;

enum { INFLIGHT_JPEG_GRAY, INFLIGHT_JPEG_YCC, INFLIGHT_JPEG_RGB, INFLIGHT_JPEG_CMYK, INFLIGHT_JPEG_YCCK };

typedef struct {
    int width, height;
    /// One of INFLIGHT_JPEG_…
    int color;
    int component_count;
    /// Whether CMYK is inverted, as Adobe's programs write it.
    int is_inverted;
} inflight_jpeg_header;

typedef struct {
    /// The size of the plane in samples, without padding.
    int width, height;
    /// The number of rows that one call to `inflight_jpeg_read_planes` writes, and their length.
    int rows_per_read, bytes_per_row;
} inflight_jpeg_plane;

/// The bytes must outlive the reader. Returns `NULL` if there is no memory.
inflight_jpeg_reader *_Nullable inflight_jpeg_open(
    const uint8_t *_Nonnull bytes, size_t count, inflight_is_cancelled _Nonnull is_cancelled,
    const void *_Nullable context);
void inflight_jpeg_close(inflight_jpeg_reader *_Nonnull reader);
/// Returns the library's text for the last error.
const char *_Nonnull inflight_jpeg_error(const inflight_jpeg_reader *_Nonnull reader);
int inflight_jpeg_read_header(inflight_jpeg_reader *_Nonnull reader, inflight_jpeg_header *_Nonnull header);

/// Starts decoding to planes, at a scale of 1 / `denominator` (1, 2, 4 or 8). Stores the scaled size of the image and
/// the layout of each plane.
int inflight_jpeg_start_planes(
    inflight_jpeg_reader *_Nonnull reader, int denominator, int *_Nonnull width, int *_Nonnull height,
    inflight_jpeg_plane planes[_Nonnull 4]);
/// Reads the next band of all planes into buffers of `rows_per_read` × `bytes_per_row` bytes each. Rows beyond the
/// plane's height are padding. `*has_more` is 0 after the last band.
int inflight_jpeg_read_planes(
    inflight_jpeg_reader *_Nonnull reader, uint8_t *_Nullable const planes[_Nonnull 4], int *_Nonnull has_more);

/// Accepts input that ends early, between two scans. Must be called before the header is read.
void inflight_jpeg_accept_end(inflight_jpeg_reader *_Nonnull reader);
/// Returns the number of the scan that was read last, from 1.
int inflight_jpeg_scan_number(const inflight_jpeg_reader *_Nonnull reader);

/// Starts decoding to rows of four bytes per pixel: red, green, blue, 255; or CMYK for CMYK and YCCK, inverted if the
/// file's are. The scale is 1 / `denominator` (1, 2, 4 or 8). Stores the scaled size.
int inflight_jpeg_start_rows(
    inflight_jpeg_reader *_Nonnull reader, int denominator, int *_Nonnull width, int *_Nonnull height);
int inflight_jpeg_read_rows(
    inflight_jpeg_reader *_Nonnull reader, uint8_t *_Nonnull rows, size_t bytes_per_row, int count);

/// Reads up to the end of the image.
int inflight_jpeg_finish(inflight_jpeg_reader *_Nonnull reader);

/// Encodes pixels of four bytes, and ignores the fourth. Free `*bytes` with `inflight_free`. On failure, `message` has
/// the reason.
int inflight_jpeg_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int quality,
    int is_progressive, uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

void inflight_free(void *_Nullable memory);

// MARK: PNG

typedef struct inflight_png_reader inflight_png_reader;

/// The bytes must outlive the reader. Returns `NULL` if there is no memory.
inflight_png_reader *_Nullable inflight_png_open(const uint8_t *_Nonnull bytes, size_t count);
void inflight_png_close(inflight_png_reader *_Nonnull reader);
const char *_Nonnull inflight_png_error(const inflight_png_reader *_Nonnull reader);

typedef struct {
    int width, height;
    int is_interlaced;
    /// The decompressed colour profile, owned by the reader, or `NULL`.
    const uint8_t *_Nullable profile;
    size_t profile_count;
    /// Whether the file declares sRGB.
    int is_srgb;
    /// The encoding exponent that the file declares (about 0.45), or 0.
    double gamma;
    /// The x and y of white, red, green and blue that the file declares, or all 0.
    double chromaticities[8];
} inflight_png_header;

/// Reads all chunks before the pixels, and sets up rows of red, green, blue and straight alpha (255 if there is none).
/// Ignores a profile of more than `maximum_profile` bytes.
int inflight_png_read_header(
    inflight_png_reader *_Nonnull reader, size_t maximum_profile, inflight_png_header *_Nonnull header);
/// Reads the next row. An interlaced image needs `height` × 7 calls, a row for each row of each pass, and rows must
/// keep their contents between passes.
int inflight_png_read_row(inflight_png_reader *_Nonnull reader, uint8_t *_Nonnull row);
/// Reads the next row for display before all passes are read: each pixel also fills the positions of later passes.
int inflight_png_show_row(inflight_png_reader *_Nonnull reader, uint8_t *_Nonnull row);
int inflight_png_finish(inflight_png_reader *_Nonnull reader);

/// Encodes pixels of four bytes; ignores the fourth if `has_alpha` is 0. Free `*bytes` with `inflight_free`.
int inflight_png_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int has_alpha,
    uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

enum {
    INFLIGHT_GUNZIP_WHOLE,
    INFLIGHT_GUNZIP_CUT_SHORT,
    /// The capacity is used up before the data ends.
    INFLIGHT_GUNZIP_FULL,
    INFLIGHT_GUNZIP_DAMAGED,
};

/// Decompresses the first member of gzip data to at most `capacity` bytes.
int inflight_gunzip(
    const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull target, size_t capacity, size_t *_Nonnull written);

/// Returns the CRC-32 of PNG's chunks, continued from `crc`.
uint32_t inflight_crc32(uint32_t crc, const uint8_t *_Nonnull bytes, size_t count);

// MARK: Colour

/// A transform from a colour profile to sRGB. Immutable, so several threads may use it at once.
typedef struct inflight_color_transform inflight_color_transform;

/// The four bytes of a pixel: grey three times and alpha; red, green, blue, alpha; CMYK; inverted CMYK.
enum { INFLIGHT_COLOR_GRAY, INFLIGHT_COLOR_RGB, INFLIGHT_COLOR_CMYK, INFLIGHT_COLOR_INVERTED_CMYK };

/// Returns `NULL` if the profile is malformed or is not for pixels of this kind.
inflight_color_transform *_Nullable inflight_color_open_profile(
    const uint8_t *_Nonnull profile, size_t count, int kind);
/// Creates a transform for INFLIGHT_COLOR_RGB from the x and y of white, red, green and blue, and the exponent that
/// decodes samples to linear light.
inflight_color_transform *_Nullable inflight_color_open_primaries(
    const double chromaticities[_Nonnull 8], double gamma);
/// Converts pixels in place to red, green, blue and their alpha (255 for CMYK).
void inflight_color_apply(
    const inflight_color_transform *_Nonnull transform, uint8_t *_Nonnull pixels, size_t pixel_count);
void inflight_color_close(inflight_color_transform *_Nonnull transform);

// MARK: WebP

typedef struct inflight_webp_reader inflight_webp_reader;

typedef struct {
    int width, height;
    /// The number of finished rows, of luma or of pixels.
    int rows;
    /// The planes of luma, and of chroma at half the resolution. `NULL` if the reader decodes to pixels.
    const uint8_t *_Nullable luma, *_Nullable blue, *_Nullable red;
    int luma_stride, chroma_stride;
    /// Red, green, blue, straight alpha. `NULL` if the reader decodes to planes.
    const uint8_t *_Nullable pixels;
    int pixel_stride;
} inflight_webp_rows;

/// Creates a decoder of one frame: a chunk `VP8 ` or `VP8L`, with an `ALPH` chunk before it if there is one, or a file
/// of these. Decodes to planes if `wants_planes`, else to pixels. A frame whose own header has another size than
/// `width` × `height` is damaged, and no memory is allocated for it. Returns `NULL` if there is no memory.
inflight_webp_reader *_Nullable inflight_webp_open(int wants_planes, int width, int height);
/// Decodes as far as possible with the first `count` bytes of the frame. Later calls pass more bytes, at the same
/// address. `*is_done` is 1 once the frame is complete.
int inflight_webp_update(
    inflight_webp_reader *_Nonnull reader, const uint8_t *_Nonnull bytes, size_t count, int *_Nonnull is_done);
/// Stores the rows decoded so far, which are valid until the next call.
void inflight_webp_get_rows(inflight_webp_reader *_Nonnull reader, inflight_webp_rows *_Nonnull rows);
void inflight_webp_close(inflight_webp_reader *_Nonnull reader);

/// Encodes pixels of four bytes; ignores the fourth if `has_alpha` is 0. Free `*bytes` with `inflight_free`.
int inflight_webp_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int has_alpha, int quality,
    int is_lossless, uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

// MARK: GIF

typedef struct inflight_gif_reader inflight_gif_reader;

typedef struct {
    int canvas_width, canvas_height;
    /// The frame's rectangle on the canvas.
    int left, top, width, height;
    int is_interlaced;
    /// The index of the transparent colour, or -1.
    int transparent;
    /// Red, green and blue of each colour. Colours that the file does not define are black.
    uint8_t palette[256][3];
} inflight_gif_frame;

/// The bytes must outlive the reader. Returns `NULL` if there is no memory or the header is malformed.
inflight_gif_reader *_Nullable inflight_gif_open(const uint8_t *_Nonnull bytes, size_t count);
/// Continues reading at `position`, which must be the start of a block after the header and the global colour table.
void inflight_gif_seek(inflight_gif_reader *_Nonnull reader, size_t position);
/// Reads the description of the next frame. Its rows follow.
int inflight_gif_read_frame(inflight_gif_reader *_Nonnull reader, inflight_gif_frame *_Nonnull frame);
/// Reads the next row, in the order of the file.
int inflight_gif_read_row(inflight_gif_reader *_Nonnull reader, uint8_t *_Nonnull indices, int width);
const char *_Nonnull inflight_gif_error(const inflight_gif_reader *_Nonnull reader);
void inflight_gif_close(inflight_gif_reader *_Nonnull reader);
