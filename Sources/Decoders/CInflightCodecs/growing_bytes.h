#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// The output of an encoder so far, in memory of `malloc` that grows by doubling.
struct growing_bytes {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
};

/// Reserves capacity for `more` further bytes. Returns 0 and changes nothing if there is no memory, else 1.
static inline int growing_bytes_reserve(struct growing_bytes *target, size_t more) {
    if (more <= target->capacity - target->count) return 1;
    size_t doubled = target->capacity * 2, needed = target->count + more;
    size_t capacity = doubled > needed ? doubled : needed;
    uint8_t *larger = realloc(target->bytes, capacity);
    if (!larger) return 0;
    target->bytes = larger;
    target->capacity = capacity;
    return 1;
}
