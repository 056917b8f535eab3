#define _GNU_SOURCE
#include "CInflightConcurrency.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

// Weak: they are there only in a program that the sanitizer's runtime is linked into.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

void inflight_tsan_acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

void inflight_tsan_release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

void inflight_name_thread(const char *name) {
#if defined(__APPLE__)
    pthread_setname_np(name);
#else
    pthread_setname_np(pthread_self(), name);
#endif
}

struct start {
    void (*body)(void *);
    void *context;
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

int inflight_start_thread(void (*body)(void *), void *context) {
    struct start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int status = pthread_create(&thread, &attributes, run, start);
    pthread_attr_destroy(&attributes);
    if (status) free(start);
    return status;
}

int inflight_processor_count(void) {
#if defined(__linux__)
    // A container or taskset may allow fewer processors than the machine has.
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}
