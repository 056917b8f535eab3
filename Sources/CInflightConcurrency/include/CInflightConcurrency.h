#pragma once

/// Tells the thread sanitizer, where it runs, that what happened before a `release` on `address` happened before
/// the `acquire` that follows it. Without the sanitizer both do nothing.
void inflight_tsan_acquire(void *address);
void inflight_tsan_release(void *address);
