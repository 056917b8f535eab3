#pragma once

/// Tells the thread sanitizer, where it runs, that what happened before a `release` on `address` happened before
/// the `acquire` that follows it. Without the sanitizer both do nothing.
void inflight_tsan_acquire(void *address);
void inflight_tsan_release(void *address);

/// Names the calling thread for debuggers and `ps -T`; 15 bytes of the name are kept.
void inflight_name_thread(const char *name);

/// Starts a detached thread that runs `body(context)`. Gives 0, or the error number.
int inflight_start_thread(void (*body)(void *), void *context);

/// How many processors this process may run on.
int inflight_processor_count(void);
