#pragma once

#include <stddef.h>
#include <stdint.h>

/// Annotates a happens-before edge for the thread sanitizer, from a `release` on `address` to the `acquire` that
/// follows it. Without the sanitizer, both functions do nothing.
void inflight_tsan_acquire(void *address);
void inflight_tsan_release(void *address);

/// Names the calling thread, for debuggers and `ps -T`. A name of more than 15 bytes is refused.
void inflight_name_thread(const char *name);

/// Starts a detached thread that runs `body(context)`. Returns 0, or an error number.
int inflight_start_thread(void (*body)(void *), void *context);

/// Initialises a condition variable for ``inflight_condition_wait``. Returns 0, or an error number.
int inflight_condition_make(void *condition);

/// Waits like pthread_cond_wait, for at most `nanoseconds` of the monotonic clock, and at most one day.
void inflight_condition_wait(void *condition, void *mutex, int64_t nanoseconds);

/// Returns the number of processors that this process may run on.
int inflight_processor_count(void);

/// Returns the label of the calling thread's dispatch queue, or of the default queue if the thread runs none; ""
/// without libdispatch. The pointer is valid while the queue exists.
const char *inflight_current_queue_label(void);

/// Writes the calling thread's name to `name`: at most 16 bytes, including the terminator.
void inflight_current_thread_name(char *name, int size);

/// Returns whether the caller runs on the process's main thread. Costs one system call.
int inflight_is_main_thread(void);

/// Returns an identifier of the calling thread that is unique among the threads alive. Never 0.
uintptr_t inflight_thread_id(void);

/// Maps `size` bytes of zeros if `pages` is NULL, else resizes the mapping, which may move it. Returns NULL on failure,
/// and leaves an existing mapping as it was.
void *inflight_pages_resize(void *pages, size_t old_size, size_t size);
void inflight_pages_free(void *pages, size_t size);
