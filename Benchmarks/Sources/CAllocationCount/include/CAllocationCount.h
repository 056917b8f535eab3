// Counts the calls of glibc's malloc, calloc, realloc and aligned allocation, by all libraries and on all threads.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Starts or stops counting. While stopped, an allocation costs one load and one branch more than in glibc.
void inflight_count_allocations(bool counts);

// Returns the number of allocations counted since the program started.
uint64_t inflight_allocations(void);
