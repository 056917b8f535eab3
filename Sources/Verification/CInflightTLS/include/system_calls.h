#pragma once

/// A descriptor that one thread makes readable to end another one's poll; not blocking. -1 where there is none left.
int inflight_wake_descriptor(void);

/// The next connection of a listening socket, not blocking, closed on exec; -1 where none waits.
int inflight_accept(int listener);
