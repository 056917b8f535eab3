#include "CInflightConcurrency.h"

// Weak: they are there only in a program that the sanitizer's runtime is linked into.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

void inflight_tsan_acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

void inflight_tsan_release(void *address) {
    if (__tsan_release) __tsan_release(address);
}
