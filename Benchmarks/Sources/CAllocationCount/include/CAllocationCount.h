// Counts what a program allocates: malloc and its relatives of glibc, called by whomever, on whatever thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Whether allocations are counted from now on. Not counted they cost a load and a branch more than otherwise.
void inflight_count_allocations(bool counts);

// How many were counted since the program began.
uint64_t inflight_allocations(void);
