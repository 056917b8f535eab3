#pragma once

#if !__has_include(<jpeglib.h>)
#error "libjpeg-turbo is missing: install the Debian package libjpeg-dev"
#endif
#if !__has_include(<png.h>)
#error "libpng 1.6 is missing: install the Debian package libpng-dev"
#endif
#if !__has_include(<libdeflate.h>)
#error "libdeflate is missing: install the Debian package libdeflate-dev"
#endif
#if !__has_include(<webp/decode.h>)
#error "libwebp is missing: install the Debian package libwebp-dev"
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

/// An image that needs more passes over its coefficients is refused.
enum { INFLIGHT_JPEG_MAXIMUM_SCANS = 500 };

enum { INFLIGHT_JPEG_GRAY, INFLIGHT_JPEG_YCC, INFLIGHT_JPEG_RGB, INFLIGHT_JPEG_CMYK, INFLIGHT_JPEG_YCCK };

typedef struct {
    int width, height;
    /// One of INFLIGHT_JPEG_…
    int color;
    int component_count;
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
/// Returns whether the bytes have ended before the end of the image, which explains a failure.
int inflight_jpeg_lacks_data(const inflight_jpeg_reader *_Nonnull reader);
enum { INFLIGHT_JPEG_SEGMENT, INFLIGHT_JPEG_DATA, INFLIGHT_JPEG_SCANS };

/// Returns what is damaged: a segment, the data of a scan, or the number of scans.
int inflight_jpeg_damage(const inflight_jpeg_reader *_Nonnull reader);
/// Returns the library's text for the last error, or an empty one.
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

/// Accepts input that ends early. Of an image with several scans, missing coefficients are zero. Of any other, the rows
/// up to the first that lacks data can be read. Must be called before the header is read.
///
/// Otherwise the input may lack only what follows the data of the last scan.
void inflight_jpeg_accept_end(inflight_jpeg_reader *_Nonnull reader);
/// Returns the number of the scan that was read last, from 1.
int inflight_jpeg_scan_number(const inflight_jpeg_reader *_Nonnull reader);

/// Starts decoding to rows of four bytes per pixel: red, green, blue, 255; or inverted CMYK for CMYK and YCCK. The
/// scale is 1 / `denominator` (1, 2, 4 or 8). Stores the scaled size.
int inflight_jpeg_start_rows(
    inflight_jpeg_reader *_Nonnull reader, int denominator, int *_Nonnull width, int *_Nonnull height);
int inflight_jpeg_read_rows(
    inflight_jpeg_reader *_Nonnull reader, uint8_t *_Nonnull rows, size_t bytes_per_row, int count);

/// Reads up to the end of the image, after all of its rows. Bytes behind its data are ignored if they are damaged.
int inflight_jpeg_finish(inflight_jpeg_reader *_Nonnull reader);

/// A file to encode, with chroma at half the resolution.
typedef struct {
    int width, height;
    /// 1 to 100.
    int quality;
    int is_progressive;
    /// The encoded file. Free it with `inflight_free`.
    uint8_t *_Nullable bytes;
    size_t count;
    /// Room for 256 bytes: the reason of a failure.
    char *_Nonnull message;
} inflight_jpeg_file;

/// Luma, blue and red of a file, the chroma half as wide and half as high, rounded up. Rows are as long as whole blocks
/// of eight samples, at least.
typedef struct {
    const uint8_t *_Nonnull bytes[3];
    size_t bytes_per_row[3];
} inflight_jpeg_planes;

/// Encodes pixels of four bytes, and ignores the fourth.
int inflight_jpeg_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int is_bgra, inflight_jpeg_file *_Nonnull file);
/// Encodes planes without a conversion.
int inflight_jpeg_encode_planes(const inflight_jpeg_planes *_Nonnull planes, inflight_jpeg_file *_Nonnull file);

void inflight_free(void *_Nullable memory);

// MARK: PNG

typedef struct inflight_png_reader inflight_png_reader;

/// Returns an upper bound of the bytes that a reader holds at once, beside a few rows.
size_t inflight_png_held(const uint8_t *_Nonnull bytes, size_t count);

/// The bytes must outlive the reader. Returns `NULL` if there is no memory. Inflates the pixels of a small image.
inflight_png_reader *_Nullable inflight_png_open(const uint8_t *_Nonnull bytes, size_t count);
void inflight_png_close(inflight_png_reader *_Nonnull reader);
/// Returns whether the bytes have ended before the end of the image, which explains a failure.
int inflight_png_lacks_data(const inflight_png_reader *_Nonnull reader);
/// Returns the library's text for the last error.
const char *_Nonnull inflight_png_error(const inflight_png_reader *_Nonnull reader);

typedef struct {
    int width, height;
    int is_interlaced;
    /// Whether rows have 16 bits per sample.
    int is_deep;
} inflight_png_header;

/// Reads all chunks before the pixels, and sets up rows of red, green, blue and straight alpha (opaque if there is
/// none). Samples have 8 bits, or those of 16 bits all of theirs, in this machine's byte order, if `keeps_depth`.
/// Chunks that concern only colours are ignored.
int inflight_png_read_header(
    inflight_png_reader *_Nonnull reader, int keeps_depth, inflight_png_header *_Nonnull header);
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
    INFLIGHT_INFLATE_WHOLE,
    INFLIGHT_INFLATE_CUT_SHORT,
    /// The capacity is used up before the data ends.
    INFLIGHT_INFLATE_FULL,
    INFLIGHT_INFLATE_DAMAGED,
};

/// Decompresses zlib data, or the first member of gzip data, to at most `capacity` bytes.
int inflight_inflate(
    const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull target, size_t capacity, size_t *_Nonnull written);

/// Returns the CRC-32 of PNG's chunks, continued from `crc`.
uint32_t inflight_crc32(uint32_t crc, const uint8_t *_Nonnull bytes, size_t count);

// MARK: Colour

/// A transform from a colour profile to sRGB. Immutable, so several threads may use it at once.
typedef struct inflight_color_transform inflight_color_transform;

/// The four samples of a pixel: grey three times and alpha; red, green, blue, alpha; inverted CMYK. `DEEP` means 16
/// bits per sample in this machine's byte order, otherwise they have 8.
enum {
    INFLIGHT_COLOR_GRAY,
    INFLIGHT_COLOR_RGB,
    INFLIGHT_COLOR_INVERTED_CMYK,
    INFLIGHT_COLOR_DEEP_GRAY,
    INFLIGHT_COLOR_DEEP_RGB,
};

/// Returns `NULL` if the profile is malformed or is not for pixels of this kind.
inflight_color_transform *_Nullable inflight_color_open_profile(
    const uint8_t *_Nonnull profile, size_t count, int kind);
/// Creates a transform for red, green and blue from the x and y of white, red, green and blue, and the curve that
/// decodes samples to linear light: (a x + b)^g + e from d on, below it c x + f, as g, a, b, c, d, e, f.
inflight_color_transform *_Nullable inflight_color_open_primaries(
    const double chromaticities[_Nonnull 8], const double curve[_Nonnull 7], int kind);
/// Converts pixels of 8 bits in place to red, green, blue and their alpha (255 for CMYK).
void inflight_color_apply(
    const inflight_color_transform *_Nonnull transform, uint8_t *_Nonnull pixels, size_t pixel_count);
/// Converts pixels of 16 bits to red, green, blue and their alpha of 8 bits.
void inflight_color_apply_deep(
    const inflight_color_transform *_Nonnull transform, const uint16_t *_Nonnull pixels, uint8_t *_Nonnull target,
    size_t pixel_count);
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
