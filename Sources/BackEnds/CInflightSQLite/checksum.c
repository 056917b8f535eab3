#include "CInflightSQLite.h"

#include <string.h>

static const uint64_t prime1 = 0x9E3779B185EBCA87u;
static const uint64_t prime2 = 0xC2B2AE3D27D4EB4Fu;
static const uint64_t prime3 = 0x165667B19E3779F9u;
static const uint64_t prime4 = 0x85EBCA77C2B2AE63u;
static const uint64_t prime5 = 0x27D4EB2F165667C5u;

static inline uint64_t rotated(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static inline uint64_t word64(const unsigned char *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline uint32_t word32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t mixed(uint64_t lane, uint64_t word) { return rotated(lane + word * prime2, 31) * prime1; }

static inline uint64_t merged(uint64_t sum, uint64_t lane) { return (sum ^ mixed(0, lane)) * prime1 + prime4; }

void inflight_checksum_begin(struct inflight_checksum *sum, uint64_t seed) {
    memset(sum, 0, sizeof *sum);
    sum->seed = seed;
    sum->lanes[0] = seed + prime1 + prime2;
    sum->lanes[1] = seed + prime2;
    sum->lanes[2] = seed;
    sum->lanes[3] = seed - prime1;
}

// Adds whole stripes of 32 bytes, and returns a pointer to the bytes after them.
static const unsigned char *take_stripes(
    struct inflight_checksum *sum, const unsigned char *bytes, size_t stripes) {
    uint64_t a = sum->lanes[0], b = sum->lanes[1], c = sum->lanes[2], d = sum->lanes[3];
    for (; stripes > 0; stripes--, bytes += 32) {
        a = mixed(a, word64(bytes));
        b = mixed(b, word64(bytes + 8));
        c = mixed(c, word64(bytes + 16));
        d = mixed(d, word64(bytes + 24));
    }
    sum->lanes[0] = a;
    sum->lanes[1] = b;
    sum->lanes[2] = c;
    sum->lanes[3] = d;
    return bytes;
}

void inflight_checksum_add(struct inflight_checksum *sum, const void *bytes, size_t count) {
    if (count == 0) return;
    const unsigned char *next = bytes;
    size_t waiting = sum->length % 32;
    sum->length += count;
    if (waiting > 0) {
        size_t taken = count < 32 - waiting ? count : 32 - waiting;
        memcpy(sum->rest + waiting, next, taken);
        if (waiting + taken < 32) return;
        take_stripes(sum, sum->rest, 1);
        next += taken;
        count -= taken;
    }
    next = take_stripes(sum, next, count / 32);
    if (count % 32 > 0) memcpy(sum->rest, next, count % 32);
}

uint64_t inflight_checksum_end(const struct inflight_checksum *sum) {
    uint64_t result;
    if (sum->length >= 32) {
        const uint64_t *lanes = sum->lanes;
        result = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
        for (int lane = 0; lane < 4; lane++) result = merged(result, lanes[lane]);
    } else {
        result = sum->seed + prime5;
    }
    result += sum->length;
    const unsigned char *next = sum->rest;
    size_t count = sum->length % 32;
    for (; count >= 8; count -= 8, next += 8) result = rotated(result ^ mixed(0, word64(next)), 27) * prime1 + prime4;
    for (; count >= 4; count -= 4, next += 4) result = rotated(result ^ word32(next) * prime1, 23) * prime2 + prime3;
    for (; count > 0; count--, next++) result = rotated(result ^ *next * prime5, 11) * prime1;
    result = (result ^ result >> 33) * prime2;
    result = (result ^ result >> 29) * prime3;
    return result ^ result >> 32;
}
