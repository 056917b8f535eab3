#pragma once

#include <stddef.h>

/// Returns the number of bytes that this process has allocated and not freed. Excludes the program itself and free
/// memory in the allocator's arenas.
size_t allocated_bytes(void);
