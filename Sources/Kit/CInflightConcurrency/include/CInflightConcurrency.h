#pragma once

#include <stddef.h>
#include <stdint.h>

/// Tells the thread sanitizer, where it runs, that what happened before a `release` on `address` happened before
/// the `acquire` that follows it. Without the sanitizer both do nothing.
void inflight_tsan_acquire(void *address);
void inflight_tsan_release(void *address);

/// Names the calling thread for debuggers and `ps -T`; 15 bytes of the name are kept.
void inflight_name_thread(const char *name);

/// Starts a detached thread that runs `body(context)`. Gives 0, or the error number.
int inflight_start_thread(void (*body)(void *), void *context);

/// Makes a condition that ``inflight_condition_wait`` waits for. Gives 0, or the error number.
int inflight_condition_make(void *condition);

/// Waits as pthread_cond_wait does, for that many nanoseconds of the monotonic clock at most.
void inflight_condition_wait(void *condition, void *mutex, int64_t nanoseconds);

/// How many processors this process may run on.
int inflight_processor_count(void);

/// The name of the dispatch queue that the calling thread works for, or of the default queue where there is none. Good
/// as long as that queue.
const char *inflight_current_queue_label(void);

/// Writes the calling thread's name, 16 bytes at most with its end.
void inflight_current_thread_name(char *name, int size);

/// Whether the caller runs on the thread that the process began with: one system call.
int inflight_is_main_thread(void);

/// A number that no other living thread has, never 0.
uintptr_t inflight_thread_id(void);

/// Maps `size` bytes of zeros, or resizes what was mapped, which may move it. NULL where that cannot be done: what was
/// mapped stays then.
void *inflight_pages_resize(void *pages, size_t old_size, size_t size);
void inflight_pages_free(void *pages, size_t size);
