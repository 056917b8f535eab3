#include "CInflightImages.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const int16_t *samples) { return _mm256_loadu_si256((const __m256i *)samples); }

// Adds the products of 16 adjacent samples and their weights to sums of two products each.
AVX2 static inline __m256i weighed(__m256i sums, const int16_t *samples, __m256i weights) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(load(samples), weights));
}

// Computes `blocks` times 16 sums from `index` on.
AVX2 static inline __attribute__((always_inline)) void weigh_blocks(
    const int16_t *const *pairs, const int16_t *weights, size_t pair_count, size_t index, size_t blocks, int bits,
    int16_t *target) {
    const __m256i half = _mm256_set1_epi32(1 << (bits - 1));
    __m256i low[2] = {half, half}, high[2] = {half, half};
    for (size_t pair = 0; pair < pair_count; pair++) {
        const __m256i weight = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(weights + 8 * pair)));
        const int16_t *const samples = pairs[pair] + 2 * index;
        for (size_t block = 0; block < blocks; block++) {
            low[block] = weighed(low[block], samples + 32 * block, weight);
            high[block] = weighed(high[block], samples + 32 * block + 16, weight);
        }
    }
    for (size_t block = 0; block < blocks; block++) {
        const __m256i packed =
            _mm256_packs_epi32(_mm256_srai_epi32(low[block], bits), _mm256_srai_epi32(high[block], bits));
        // Packing interleaves the halves of its operands.
        _mm256_storeu_si256(
            (__m256i *)(target + index + 16 * block), _mm256_permute4x64_epi64(packed, 0xD8));
    }
}

AVX2 static void weigh_rows(
    const int16_t *const *pairs, const int16_t *weights, size_t pair_count, size_t count, int bits, int16_t *target) {
    size_t index = 0;
    // Two blocks at a time load each weight once for both.
    for (; index + 16 < count; index += 32) weigh_blocks(pairs, weights, pair_count, index, 2, bits, target);
    if (index < count) weigh_blocks(pairs, weights, pair_count, index, 1, bits, target);
}

AVX2 static inline __m256i sum_of(const int16_t *samples, const int16_t *weights, size_t taps) {
    __m256i sums = _mm256_setzero_si256();
    size_t tap = 0;
    for (; tap + 16 <= taps; tap += 16) sums = weighed(sums, samples + tap, load(weights + tap));
    if (tap == taps) return sums;
    const __m128i rest = _mm_madd_epi16(
        _mm_loadu_si128((const __m128i *)(samples + tap)), _mm_loadu_si128((const __m128i *)(weights + tap)));
    return _mm256_add_epi32(sums, _mm256_zextsi128_si256(rest));
}

// Computes the sums numbered 0, `b`, `c` and `d`.
AVX2 static inline __attribute__((always_inline)) void weigh_four(
    const int16_t *source, const intptr_t *starts, size_t b, size_t c, size_t d, const int16_t *weights, size_t taps,
    int bits, int16_t *target) {
    const __m256i quarters = _mm256_hadd_epi32(
        _mm256_hadd_epi32(
            sum_of(source + starts[0], weights, taps), sum_of(source + starts[b], weights + b * taps, taps)),
        _mm256_hadd_epi32(
            sum_of(source + starts[c], weights + c * taps, taps), sum_of(source + starts[d], weights + d * taps, taps)));
    const __m128i whole = _mm_add_epi32(
        _mm_add_epi32(_mm256_castsi256_si128(quarters), _mm256_extracti128_si256(quarters, 1)),
        _mm_set1_epi32(1 << (bits - 1)));
    const __m128i shifted = _mm_srai_epi32(whole, bits);
    _mm_storel_epi64((__m128i *)target, _mm_packs_epi32(shifted, shifted));
}

AVX2 static inline __attribute__((always_inline)) void weigh_columns(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, size_t taps, int bits,
    int16_t *target) {
    for (; count >= 4; count -= 4) {
        weigh_four(source, starts, 1, 2, 3, weights, taps, bits, target);
        starts += 4;
        weights += 4 * taps;
        target += 4;
    }
    if (count == 0) return;
    // The last sum is computed again for those that are missing.
    const size_t last = count - 1;
    weigh_four(source, starts, last < 1 ? last : 1, last, last, weights, taps, bits, target);
}

// The lengths for reductions by up to four, as constants that the compiler unrolls.
AVX2 static void weigh_16(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, int bits, int16_t *target) {
    weigh_columns(source, starts, count, weights, 16, bits, target);
}

AVX2 static void weigh_24(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, int bits, int16_t *target) {
    weigh_columns(source, starts, count, weights, 24, bits, target);
}

AVX2 static void weigh_any(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, size_t taps, int bits,
    int16_t *target) {
    weigh_columns(source, starts, count, weights, taps, bits, target);
}

int inflight_weigh_rows(
    const int16_t *const *pairs, const int16_t *weights, size_t pair_count, size_t count, int bits, int16_t *target) {
    if (!__builtin_cpu_supports("avx2")) return 0;
    weigh_rows(pairs, weights, pair_count, count, bits, target);
    return 1;
}

int inflight_weigh_columns(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, size_t taps, int bits,
    int16_t *target) {
    if (!__builtin_cpu_supports("avx2")) return 0;
    if (taps == 16) weigh_16(source, starts, count, weights, bits, target);
    else if (taps == 24) weigh_24(source, starts, count, weights, bits, target);
    else weigh_any(source, starts, count, weights, taps, bits, target);
    return 1;
}
#else
int inflight_weigh_rows(
    const int16_t *const *pairs, const int16_t *weights, size_t pair_count, size_t count, int bits, int16_t *target) {
    return 0;
}

int inflight_weigh_columns(
    const int16_t *source, const intptr_t *starts, size_t count, const int16_t *weights, size_t taps, int bits,
    int16_t *target) {
    return 0;
}
#endif
