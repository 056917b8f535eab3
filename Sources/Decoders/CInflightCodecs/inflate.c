#include "CInflightCodecs.h"

#include <limits.h>

#include <zlib.h>

int inflight_inflate(const uint8_t *bytes, size_t count, uint8_t *target, size_t capacity, size_t *written) {
    z_stream stream = {0};
    *written = 0;
    if (count > UINT_MAX || capacity > UINT_MAX) return INFLIGHT_INFLATE_DAMAGED;
    if (inflateInit2(&stream, MAX_WBITS + 32) != Z_OK) return INFLIGHT_INFLATE_DAMAGED;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = target;
    stream.avail_out = (uInt)capacity;
    int status = inflate(&stream, Z_SYNC_FLUSH);
    *written = capacity - stream.avail_out;
    size_t left = stream.avail_out;
    inflateEnd(&stream);
    if (status == Z_STREAM_END) return INFLIGHT_INFLATE_WHOLE;
    if (status != Z_OK && status != Z_BUF_ERROR) return INFLIGHT_INFLATE_DAMAGED;
    return left == 0 ? INFLIGHT_INFLATE_FULL : INFLIGHT_INFLATE_CUT_SHORT;
}
