#pragma once

/// Creates a non-blocking eventfd, with which one thread wakes another from poll. Returns -1 on failure.
int inflight_wake_descriptor(void);

/// Accepts the next connection of a listening socket, as a non-blocking, close-on-exec socket. Returns -1 if no
/// connection is pending.
int inflight_accept(int listener);
