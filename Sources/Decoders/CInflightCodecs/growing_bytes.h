#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// What an encoder has written so far, in memory of `malloc` that grows by doubling.
struct growing_bytes {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
};

/// Makes room for `more` bytes behind those that are there. 0 where there is no memory: nothing has changed then.
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
