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

// One narrow door to the libraries that undo content codings: bytes go in as they come, and come out in pieces.

#include <stddef.h>
#include <stdint.h>

enum { INFLIGHT_CODING_GZIP, INFLIGHT_CODING_DEFLATE, INFLIGHT_CODING_BROTLI, INFLIGHT_CODING_ZSTD };

enum {
    /// All that was given has been taken; more is needed.
    INFLIGHT_CODING_MORE = 0,
    /// The room is full: call again with what is left, and room.
    INFLIGHT_CODING_FULL = 1,
    /// The coded bytes are whole; what may follow them is none of theirs.
    INFLIGHT_CODING_END = 2,
    INFLIGHT_CODING_DAMAGED = 3,
    INFLIGHT_CODING_NO_MEMORY = 4,
};

typedef struct inflight_decoding inflight_decoding;

/// `NULL` where there is no memory.
inflight_decoding *_Nullable inflight_decoding_open(int coding);
void inflight_decoding_close(inflight_decoding *_Nonnull decoding);

/// Decodes until the room is full or the bytes are taken. `*taken` and `*given` say how many of each.
int inflight_decoding_run(
    inflight_decoding *_Nonnull decoding, const uint8_t *_Nullable bytes, size_t count, size_t *_Nonnull taken,
    uint8_t *_Nonnull room, size_t size, size_t *_Nonnull given);
