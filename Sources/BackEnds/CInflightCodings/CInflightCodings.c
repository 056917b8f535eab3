#include "CInflightCodings.h"

#include <brotli/decode.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

struct inflight_decoding {
    int coding;
    /// For gzip and deflate.
    z_stream zlib;
    int has_zlib;
    /// Whether the last gzip member, Zstandard frame, or other coded stream is complete.
    int has_ended;
    /// Whether all further input is padding, and ignored.
    int is_over;
    BrotliDecoderState *brotli;
    ZSTD_DStream *zstd;
    /// The number of bytes of a frame that were read, up to the longest header's, and whether the frame is skippable.
    size_t head_count;
    int is_skippable;
};

/// RFC 9659 limits the window to 8 MiB: decoders must support it, and this one refuses larger windows.
enum { zstd_window_log = 23 };
/// The longest header of a frame, with its magic number (RFC 8878 section 3.1.1.1).
enum { zstd_longest_head = 18 };

inflight_decoding *inflight_decoding_open(int coding) {
    inflight_decoding *decoding = calloc(1, sizeof *decoding);
    if (!decoding) return NULL;
    decoding->coding = coding;
    switch (coding) {
    case INFLIGHT_CODING_GZIP:
        decoding->has_zlib = inflateInit2(&decoding->zlib, 16 + MAX_WBITS) == Z_OK;
        if (!decoding->has_zlib) goto no_memory;
        break;
    case INFLIGHT_CODING_DEFLATE: break;
    case INFLIGHT_CODING_BROTLI:
        decoding->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
        if (!decoding->brotli) goto no_memory;
        break;
    case INFLIGHT_CODING_ZSTD:
        decoding->zstd = ZSTD_createDStream();
        if (!decoding->zstd) goto no_memory;
        if (ZSTD_isError(ZSTD_DCtx_setParameter(decoding->zstd, ZSTD_d_windowLogMax, zstd_window_log))) goto no_memory;
        break;
    default: goto no_memory;
    }
    return decoding;

no_memory:
    inflight_decoding_close(decoding);
    return NULL;
}

void inflight_decoding_close(inflight_decoding *decoding) {
    if (decoding->has_zlib) inflateEnd(&decoding->zlib);
    if (decoding->brotli) BrotliDecoderDestroyInstance(decoding->brotli);
    if (decoding->zstd) ZSTD_freeDStream(decoding->zstd);
    free(decoding);
}

static int run_zlib(
    inflight_decoding *decoding, const uint8_t *bytes, size_t count, size_t *taken, uint8_t *room, size_t size,
    size_t *given) {
    z_stream *stream = &decoding->zlib;
    const size_t in = count < UINT_MAX ? count : UINT_MAX;
    const size_t out = size < UINT_MAX ? size : UINT_MAX;
    if (decoding->has_ended) {
        // Another member (RFC 1952 section 2.2), or padding, which some servers append. Padding extends to the end of
        // the input, in whatever pieces it arrives.
        if (decoding->coding != INFLIGHT_CODING_GZIP || bytes[0] != 0x1f) decoding->is_over = 1;
        if (decoding->is_over) return INFLIGHT_CODING_END;
        if (inflateReset(stream) != Z_OK) return INFLIGHT_CODING_DAMAGED;
        decoding->has_ended = 0;
    }
    stream->next_in = (Bytef *)bytes;
    stream->avail_in = (uInt)in;
    stream->next_out = room;
    stream->avail_out = (uInt)out;
    const int status = inflate(stream, Z_NO_FLUSH);
    *taken = in - stream->avail_in;
    *given = out - stream->avail_out;
    switch (status) {
    case Z_STREAM_END: decoding->has_ended = 1; return *taken < count ? INFLIGHT_CODING_FULL : INFLIGHT_CODING_END;
    case Z_OK:
    // No progress was possible, because the input is empty or the output is full.
    case Z_BUF_ERROR: return stream->avail_out == 0 || *taken < count ? INFLIGHT_CODING_FULL : INFLIGHT_CODING_MORE;
    case Z_MEM_ERROR: return INFLIGHT_CODING_NO_MEMORY;
    default: return INFLIGHT_CODING_DAMAGED;
    }
}

/// `deflate` is the zlib format (RFC 9110 section 8.4.1.2), but some servers send raw deflate data. The first byte
/// tells them apart. Its low half is 8 in zlib. In raw data that would be a stored block with non-zero padding bits,
/// which encoders do not write.
static int begin_deflate(inflight_decoding *decoding, uint8_t first) {
    const int is_framed = (first & 0x0f) == Z_DEFLATED && (first >> 4) <= 7;
    decoding->has_zlib = inflateInit2(&decoding->zlib, is_framed ? MAX_WBITS : -MAX_WBITS) == Z_OK;
    return decoding->has_zlib;
}

static int run_brotli(
    inflight_decoding *decoding, const uint8_t *bytes, size_t count, size_t *taken, uint8_t *room, size_t size,
    size_t *given) {
    if (decoding->has_ended) return INFLIGHT_CODING_END;
    size_t left = count, space = size;
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoding->brotli, &left, &bytes, &space, &room, NULL);
    *taken = count - left;
    *given = size - space;
    switch (result) {
    case BROTLI_DECODER_RESULT_SUCCESS: decoding->has_ended = 1; return INFLIGHT_CODING_END;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return INFLIGHT_CODING_MORE;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: return INFLIGHT_CODING_FULL;
    case BROTLI_DECODER_RESULT_ERROR: break;
    }
    const BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(decoding->brotli);
    const int no_memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return no_memory ? INFLIGHT_CODING_NO_MEMORY : INFLIGHT_CODING_DAMAGED;
}

/// Returns whether `bytes` continue the magic number of a frame (RFC 8878 sections 3.1.1 and 3.1.2). libzstd may also
/// be built to decode its legacy formats, with unmaintained code whose result depends on how the input is split.
static int is_zstd_magic(inflight_decoding *decoding, const uint8_t *bytes, size_t count) {
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skippable[] = {0x50, 0x2a, 0x4d, 0x18};
    for (size_t place = decoding->head_count; place < 4 && place - decoding->head_count < count; place++) {
        const uint8_t byte = bytes[place - decoding->head_count];
        if (place == 0) decoding->is_skippable = (byte & 0xf0) == skippable[0];
        if (decoding->is_skippable ? place > 0 && byte != skippable[place] : byte != frame[place]) return 0;
    }
    return 1;
}

static int run_zstd(
    inflight_decoding *decoding, const uint8_t *bytes, size_t count, size_t *taken, uint8_t *room, size_t size,
    size_t *given) {
    if (!is_zstd_magic(decoding, bytes, count)) return INFLIGHT_CODING_DAMAGED;
    // Pass the header byte by byte: libzstd decodes a frame at once if the input in which its header ends contains all
    // of it. It then skips checks that it makes otherwise, such as that of the window's size, and (1.5.4) takes that
    // input for the start of a frame.
    const size_t passed = decoding->head_count < zstd_longest_head && count > 1 ? 1 : count;
    ZSTD_inBuffer in = {bytes, passed, 0};
    ZSTD_outBuffer out = {room, size, 0};
    const size_t result = ZSTD_decompressStream(decoding->zstd, &out, &in);
    *taken = in.pos;
    *given = out.pos;
    if (ZSTD_isError(result)) return INFLIGHT_CODING_DAMAGED;
    // Another frame may follow (RFC 8878 section 3).
    decoding->has_ended = result == 0;
    const size_t seen = decoding->head_count + in.pos;
    decoding->head_count = decoding->has_ended ? 0 : seen < zstd_longest_head ? seen : zstd_longest_head;
    if (in.pos < count || out.pos == size) return INFLIGHT_CODING_FULL;
    return decoding->has_ended ? INFLIGHT_CODING_END : INFLIGHT_CODING_MORE;
}

int inflight_decoding_run(
    inflight_decoding *decoding, const uint8_t *bytes, size_t count, size_t *taken, uint8_t *room, size_t size,
    size_t *given) {
    *taken = 0;
    *given = 0;
    if (decoding->coding == INFLIGHT_CODING_DEFLATE && !decoding->has_zlib) {
        if (count == 0) return INFLIGHT_CODING_MORE;
        if (!begin_deflate(decoding, bytes[0])) return INFLIGHT_CODING_NO_MEMORY;
    }
    if (count == 0 && decoding->has_ended) return INFLIGHT_CODING_END;
    switch (decoding->coding) {
    case INFLIGHT_CODING_BROTLI: return run_brotli(decoding, bytes, count, taken, room, size, given);
    case INFLIGHT_CODING_ZSTD: return run_zstd(decoding, bytes, count, taken, room, size, given);
    default: return run_zlib(decoding, bytes, count, taken, room, size, given);
    }
}

struct inflight_encoding {
    ZSTD_CStream *zstd;
};

inflight_encoding *inflight_encoding_open(int level) {
    inflight_encoding *encoding = calloc(1, sizeof *encoding);
    if (!encoding) return NULL;
    encoding->zstd = ZSTD_createCStream();
    if (!encoding->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(encoding->zstd, ZSTD_c_compressionLevel, level))
        || ZSTD_isError(ZSTD_CCtx_setParameter(encoding->zstd, ZSTD_c_checksumFlag, 1))) {
        inflight_encoding_close(encoding);
        return NULL;
    }
    return encoding;
}

void inflight_encoding_close(inflight_encoding *encoding) {
    ZSTD_freeCStream(encoding->zstd);
    free(encoding);
}

int inflight_encoding_run(
    inflight_encoding *encoding, const uint8_t *bytes, size_t count, int ends, size_t *taken, uint8_t *room,
    size_t size, size_t *given) {
    ZSTD_inBuffer in = {bytes, count, 0};
    ZSTD_outBuffer out = {room, size, 0};
    const size_t left = ZSTD_compressStream2(encoding->zstd, &out, &in, ends ? ZSTD_e_end : ZSTD_e_continue);
    *taken = in.pos;
    *given = out.pos;
    // The only possible error: the memory of the first call.
    if (ZSTD_isError(left)) return INFLIGHT_CODING_NO_MEMORY;
    if (ends && left == 0) return INFLIGHT_CODING_END;
    return in.pos == in.size && out.pos < out.size ? INFLIGHT_CODING_MORE : INFLIGHT_CODING_FULL;
}
