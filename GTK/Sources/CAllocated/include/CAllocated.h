// What of a process's memory is in use.
#pragma once

#include <stddef.h>

/// How many bytes this process has allocated and not freed: without the program itself, and without the gaps that the
/// allocator keeps in the arenas of its threads.
size_t allocated_bytes(void);
