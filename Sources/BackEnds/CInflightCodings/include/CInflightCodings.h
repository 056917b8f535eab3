#pragma once

#if !__has_include(<zlib.h>)
#error "zlib is missing: install the Debian package zlib1g-dev"
#endif
#if !__has_include(<brotli/decode.h>)
#error "Brotli is missing: install the Debian package libbrotli-dev"
#endif
#if !__has_include(<zstd.h>)
#error "Zstandard is missing: install the Debian package libzstd-dev"
#endif

// One streaming interface to the libraries that decode content codings, and one to the encoder of Zstandard.

#include <stddef.h>
#include <stdint.h>

enum { INFLIGHT_CODING_GZIP, INFLIGHT_CODING_DEFLATE, INFLIGHT_CODING_BROTLI, INFLIGHT_CODING_ZSTD };

enum {
    /// All input was consumed. More is needed.
    INFLIGHT_CODING_MORE = 0,
    /// The output is full, or input is left: call again with the rest of the input and an empty output buffer.
    INFLIGHT_CODING_FULL = 1,
    /// The coded data is complete. Bytes that follow are not part of it.
    INFLIGHT_CODING_END = 2,
    INFLIGHT_CODING_DAMAGED = 3,
    INFLIGHT_CODING_NO_MEMORY = 4,
};

typedef struct inflight_decoding inflight_decoding;

/// Returns `NULL` if there is no memory.
inflight_decoding *_Nullable inflight_decoding_open(int coding);
void inflight_decoding_close(inflight_decoding *_Nonnull decoding);

/// Decodes until `room`, of `size` bytes, is full or the input is consumed. `*taken` is the number of bytes consumed,
/// `*given` the number of bytes written.
int inflight_decoding_run(
    inflight_decoding *_Nonnull decoding, const uint8_t *_Nullable bytes, size_t count, size_t *_Nonnull taken,
    uint8_t *_Nonnull room, size_t size, size_t *_Nonnull given);

typedef struct inflight_encoding inflight_encoding;

/// Creates an encoder of one Zstandard frame with a checksum. Equal input gives equal bytes, however it is divided.
/// Returns `NULL` if there is no memory.
inflight_encoding *_Nullable inflight_encoding_open(int level);
void inflight_encoding_close(inflight_encoding *_Nonnull encoding);

/// Encodes until `room`, of `size` bytes, is full, or the input is consumed. `ends` says that no further input follows:
/// then call it until it returns ``INFLIGHT_CODING_END``. `*taken` is the number of bytes consumed, `*given` the number
/// of bytes written.
int inflight_encoding_run(
    inflight_encoding *_Nonnull encoding, const uint8_t *_Nullable bytes, size_t count, int ends,
    size_t *_Nonnull taken, uint8_t *_Nonnull room, size_t size, size_t *_Nonnull given);
