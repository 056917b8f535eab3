#include "CAllocated.h"

#include <malloc.h>

size_t allocated_bytes(void) {
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}
