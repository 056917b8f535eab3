#include "CInflightCodecs.h"

#include <limits.h>

#include <zlib.h>

int inflight_gunzip(const uint8_t *bytes, size_t count, uint8_t *target, size_t capacity, size_t *written) {
    z_stream stream = {0};
    *written = 0;
    if (count > UINT_MAX || capacity > UINT_MAX) return INFLIGHT_GUNZIP_DAMAGED;
    if (inflateInit2(&stream, 15 + 16) != Z_OK) return INFLIGHT_GUNZIP_DAMAGED;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = target;
    stream.avail_out = (uInt)capacity;
    int status = inflate(&stream, Z_SYNC_FLUSH);
    *written = capacity - stream.avail_out;
    size_t left = stream.avail_out;
    inflateEnd(&stream);
    if (status == Z_STREAM_END) return INFLIGHT_GUNZIP_WHOLE;
    if (status != Z_OK && status != Z_BUF_ERROR) return INFLIGHT_GUNZIP_DAMAGED;
    return left == 0 ? INFLIGHT_GUNZIP_FULL : INFLIGHT_GUNZIP_CUT_SHORT;
}
