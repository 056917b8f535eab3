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

// One narrow, row-wise door to each library. Errors of libjpeg and libpng, which jump, are caught here and come out as
// a status and a text; nothing ever jumps over a caller's frame.

#include <stddef.h>
#include <stdint.h>

enum {
    INFLIGHT_OK = 0,
    INFLIGHT_DAMAGED = 1,
    INFLIGHT_CANCELLED = 2,
    INFLIGHT_NO_MEMORY = 3,
};

/// Asked from time to time during one call; anything but zero stops the work.
typedef int (*inflight_is_cancelled)(const void *_Nullable context);

// MARK: JPEG

typedef struct inflight_jpeg_reader inflight_jpeg_reader;

enum { INFLIGHT_JPEG_GRAY, INFLIGHT_JPEG_YCC, INFLIGHT_JPEG_RGB, INFLIGHT_JPEG_CMYK, INFLIGHT_JPEG_YCCK };

typedef struct {
    int width, height;
    /// One of INFLIGHT_JPEG_…
    int color;
    int component_count;
    /// CMYK as Adobe's programs write it, all four inverted.
    int is_inverted;
} inflight_jpeg_header;

typedef struct {
    /// The samples of the plane that belong to the picture.
    int width, height;
    /// What one call to `inflight_jpeg_read_planes` gives of it: so many rows of so many bytes.
    int rows_per_read, bytes_per_row;
} inflight_jpeg_plane;

/// The bytes have to outlive the reader. `NULL` where there is no memory.
inflight_jpeg_reader *_Nullable inflight_jpeg_open(
    const uint8_t *_Nonnull bytes, size_t count, inflight_is_cancelled _Nonnull is_cancelled,
    const void *_Nullable context);
void inflight_jpeg_close(inflight_jpeg_reader *_Nonnull reader);
/// What went wrong, in the library's words.
const char *_Nonnull inflight_jpeg_error(const inflight_jpeg_reader *_Nonnull reader);
int inflight_jpeg_read_header(inflight_jpeg_reader *_Nonnull reader, inflight_jpeg_header *_Nonnull header);

/// Begins to decode to planes, reduced to one `denominator`th (1, 2, 4 or 8); tells the reduced size of the picture and
/// of each plane.
int inflight_jpeg_start_planes(
    inflight_jpeg_reader *_Nonnull reader, int denominator, int *_Nonnull width, int *_Nonnull height,
    inflight_jpeg_plane planes[_Nonnull 4]);
/// Reads the next band of all planes into memory of `rows_per_read` × `bytes_per_row` each. At the end of the picture
/// some rows, or all, are filling: `*has_more` is 0 after the last band.
int inflight_jpeg_read_planes(
    inflight_jpeg_reader *_Nonnull reader, uint8_t *_Nullable const planes[_Nonnull 4], int *_Nonnull has_more);

/// Before the header is read: bytes that end between two scans are no damage.
void inflight_jpeg_accept_end(inflight_jpeg_reader *_Nonnull reader);
/// The scan that was read last, from 1.
int inflight_jpeg_scan_number(const inflight_jpeg_reader *_Nonnull reader);

/// Begins to decode to rows of four bytes a pixel: red, green, blue, 255; or as they are, for CMYK and YCCK (CMYK).
/// Reduced by 1, 2, 4 or 8; `width` and `height` are what comes of it.
int inflight_jpeg_start_rows(
    inflight_jpeg_reader *_Nonnull reader, int denominator, int *_Nonnull width, int *_Nonnull height);
int inflight_jpeg_read_rows(
    inflight_jpeg_reader *_Nonnull reader, uint8_t *_Nonnull rows, size_t bytes_per_row, int count);

/// Reads up to the picture's end.
int inflight_jpeg_finish(inflight_jpeg_reader *_Nonnull reader);

/// Writes opaque pixels of four bytes. `*bytes` is for `inflight_free`. On failure `message` says why.
int inflight_jpeg_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int quality,
    int is_progressive, uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

void inflight_free(void *_Nullable memory);

// MARK: PNG

typedef struct inflight_png_reader inflight_png_reader;

/// The bytes have to outlive the reader. `NULL` where there is no memory.
inflight_png_reader *_Nullable inflight_png_open(const uint8_t *_Nonnull bytes, size_t count);
void inflight_png_close(inflight_png_reader *_Nonnull reader);
const char *_Nonnull inflight_png_error(const inflight_png_reader *_Nonnull reader);

typedef struct {
    int width, height;
    int is_interlaced;
    /// The profile, decompressed; owned by the reader. `NULL` where there is none.
    const uint8_t *_Nullable profile;
    size_t profile_count;
    /// 1 where the file says that it is sRGB.
    int is_srgb;
    /// The exponent that the file was written with (about 0.45), or 0.
    double gamma;
    /// White, red, green, blue: x and y of each; all 0 where the file does not say.
    double chromaticities[8];
} inflight_png_header;

/// Reads up to the pixels and arranges for rows of red, green, blue, alpha (straight; 255 where there is none).
/// A compressed profile of more than `maximum_profile` bytes is left out.
int inflight_png_read_header(
    inflight_png_reader *_Nonnull reader, size_t maximum_profile, inflight_png_header *_Nonnull header);
/// The next row. Of an interlaced picture the next row of the next pass: `height` × 7 calls in all, on rows that keep
/// what they hold.
int inflight_png_read_row(inflight_png_reader *_Nonnull reader, uint8_t *_Nonnull row);
/// The same, for looking at before all passes are read: each pixel of a pass also covers those that come after it.
int inflight_png_show_row(inflight_png_reader *_Nonnull reader, uint8_t *_Nonnull row);
int inflight_png_finish(inflight_png_reader *_Nonnull reader);

/// Writes pixels of four bytes; `has_alpha` 0 leaves the fourth out. `*bytes` is for `inflight_free`.
int inflight_png_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int has_alpha,
    uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

/// The checksum of PNG's chunks, continued from `crc`.
enum {
    INFLIGHT_GUNZIP_WHOLE,
    INFLIGHT_GUNZIP_CUT_SHORT,
    /// There is more than the capacity holds.
    INFLIGHT_GUNZIP_FULL,
    INFLIGHT_GUNZIP_DAMAGED,
};

/// Expands gzip data, its first member, to at most `capacity` bytes.
int inflight_gunzip(
    const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull target, size_t capacity, size_t *_Nonnull written);

uint32_t inflight_crc32(uint32_t crc, const uint8_t *_Nonnull bytes, size_t count);

// MARK: Colour

/// From a profile to sRGB. Once made it never changes, and may be used by several threads at once.
typedef struct inflight_color_transform inflight_color_transform;

/// What the four bytes of a pixel are: grey (thrice) and alpha; red, green, blue, alpha; four inks; those inverted.
enum { INFLIGHT_COLOR_GRAY, INFLIGHT_COLOR_RGB, INFLIGHT_COLOR_CMYK, INFLIGHT_COLOR_INVERTED_CMYK };

/// `NULL` where the profile is broken or is not for such pixels.
inflight_color_transform *_Nullable inflight_color_open_profile(
    const uint8_t *_Nonnull profile, size_t count, int kind);
/// For red, green, blue, by white point and primaries (x and y of each) and the exponent that makes light of them.
inflight_color_transform *_Nullable inflight_color_open_primaries(
    const double chromaticities[_Nonnull 8], double gamma);
/// Changes pixels in place to red, green, blue and what alpha they had (255 for inks).
void inflight_color_apply(
    const inflight_color_transform *_Nonnull transform, uint8_t *_Nonnull pixels, size_t pixel_count);
void inflight_color_close(inflight_color_transform *_Nonnull transform);

// MARK: WebP

typedef struct inflight_webp_reader inflight_webp_reader;

typedef struct {
    int width, height;
    /// The rows of luma (or of pixels, where there are no planes) that are finished.
    int rows;
    /// Luma and the two of chroma, at half the resolution; `NULL` where pixels are made.
    const uint8_t *_Nullable luma, *_Nullable blue, *_Nullable red;
    int luma_stride, chroma_stride;
    /// Red, green, blue, alpha (straight); `NULL` where planes are made.
    const uint8_t *_Nullable pixels;
    int pixel_stride;
} inflight_webp_rows;

/// A decoder of one frame: the chunks `VP8 ` or `VP8L`, with `ALPH` before it, or a file with one of them. Gives planes
/// for `wants_planes`, else pixels. A frame whose own header says another size than this one is damaged, and no memory
/// is taken for it. `NULL` where there is no memory.
inflight_webp_reader *_Nullable inflight_webp_open(int wants_planes, int width, int height);
/// Looks at the first `count` bytes of the frame, of which it has seen less before, at the same place in memory.
/// `*is_done` is 1 when the picture is whole.
int inflight_webp_update(
    inflight_webp_reader *_Nonnull reader, const uint8_t *_Nonnull bytes, size_t count, int *_Nonnull is_done);
/// What there is by now; valid until the next call.
void inflight_webp_get_rows(inflight_webp_reader *_Nonnull reader, inflight_webp_rows *_Nonnull rows);
void inflight_webp_close(inflight_webp_reader *_Nonnull reader);

/// Writes pixels of four bytes; `has_alpha` 0 leaves the fourth out. `*bytes` is for `inflight_free`.
int inflight_webp_encode(
    const uint8_t *_Nonnull pixels, size_t bytes_per_row, int width, int height, int is_bgra, int has_alpha, int quality,
    int is_lossless, uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count, char message[_Nonnull 256]);

// MARK: GIF

typedef struct inflight_gif_reader inflight_gif_reader;

typedef struct {
    int canvas_width, canvas_height;
    /// Where the frame lies on the canvas.
    int left, top, width, height;
    int is_interlaced;
    /// The colour that is transparent, or -1.
    int transparent;
    /// Red, green, blue of each; colours that the file does not have are black.
    uint8_t palette[256][3];
} inflight_gif_frame;

/// The bytes have to outlive the reader. `NULL` where there is no memory or the header is broken.
inflight_gif_reader *_Nullable inflight_gif_open(const uint8_t *_Nonnull bytes, size_t count);
/// Has the next frame be looked for from there on: the place of a block, behind the header and its colours.
void inflight_gif_seek(inflight_gif_reader *_Nonnull reader, size_t position);
/// Goes to the next frame.
int inflight_gif_read_frame(inflight_gif_reader *_Nonnull reader, inflight_gif_frame *_Nonnull frame);
/// The next row, in the order of the file.
int inflight_gif_read_row(inflight_gif_reader *_Nonnull reader, uint8_t *_Nonnull indices, int width);
const char *_Nonnull inflight_gif_error(const inflight_gif_reader *_Nonnull reader);
void inflight_gif_close(inflight_gif_reader *_Nonnull reader);
