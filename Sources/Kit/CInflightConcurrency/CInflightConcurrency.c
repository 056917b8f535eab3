#define _GNU_SOURCE
#include "CInflightConcurrency.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Weak: defined only in programs that link the thread sanitizer's runtime.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

void inflight_tsan_acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

void inflight_tsan_release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

// Weak, and declared here, so that this target does not depend on libdispatch or its headers.
extern const char *dispatch_queue_get_label(void *) __attribute__((weak));

const char *inflight_current_queue_label(void) {
    const char *label = dispatch_queue_get_label ? dispatch_queue_get_label(NULL) : NULL;
    return label ? label : "";
}

void inflight_current_thread_name(char *name, int size) {
    if (pthread_getname_np(pthread_self(), name, (size_t)size) != 0) name[0] = 0;
}

uintptr_t inflight_thread_id(void) {
    return (uintptr_t)pthread_self();
}

int inflight_is_main_thread(void) {
    return syscall(SYS_gettid) == getpid();
}

void inflight_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
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

int inflight_condition_make(void *condition) {
    pthread_condattr_t attributes;
    int status = pthread_condattr_init(&attributes);
    if (status == 0) status = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    return status != 0 ? status : pthread_cond_init(condition, &attributes);
}

void inflight_condition_wait(void *condition, void *mutex, int64_t nanoseconds) {
    const int64_t second = 1000000000, longest = 86400 * second;
    if (nanoseconds > longest) nanoseconds = longest;
    struct timespec time = {nanoseconds / second, nanoseconds % second};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time.tv_sec += now.tv_sec + (time.tv_nsec + now.tv_nsec) / second;
    time.tv_nsec = (time.tv_nsec + now.tv_nsec) % second;
    pthread_cond_timedwait(condition, mutex, &time);
}

int inflight_processor_count(void) {
    // A container or taskset may allow fewer processors than the machine has.
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void *inflight_pages_resize(void *pages, size_t old_size, size_t size) {
    void *larger = pages ? mremap(pages, old_size, size, MREMAP_MAYMOVE)
                         : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return larger == MAP_FAILED ? NULL : larger;
}

void inflight_pages_free(void *pages, size_t size) {
    munmap(pages, size);
}
