#pragma once

#include <stddef.h>
#include <stdint.h>

// The inner loops of `PixelKernels` with AVX2, which Swift cannot use for a part of a program. Results are the same.
// Each returns 0 and does nothing if the processor lacks AVX2.

/// Writes `count` weighted sums, rounded up to the next 16, of `pair_count` interleaved pairs of rows. A pair has two
/// weights, repeated four times.
int inflight_weigh_rows(
    const int16_t *_Nonnull const *_Nonnull pairs, const int16_t *_Nonnull weights, size_t pair_count, size_t count,
    int bits, int16_t *_Nonnull target);

/// Writes `count` weighted sums of `taps` samples from `source + starts[i]`. `taps` is a multiple of eight, and there
/// are `taps` weights for each sum.
int inflight_weigh_columns(
    const int16_t *_Nonnull source, const intptr_t *_Nonnull starts, size_t count, const int16_t *_Nonnull weights,
    size_t taps, int bits, int16_t *_Nonnull target);
