#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What a program and its decoders say to each other with, and what they share. Errors are told as negative error
// numbers.

/// A pair of connected sockets that keep messages apart (`SOCK_SEQPACKET`), both above the descriptors that a decoder
/// is given, and closed in every program that is started.
int inflight_socket_pair(int *_Nonnull mine, int *_Nonnull theirs);

/// Starts the program at `path`, with `requests` as its descriptor 3, `control` as its 4, and no other but `/dev/null`
/// as its standard ones; with no environment but `LC_ALL=C`, in a process group of its own, all signals as they are by
/// default.
///
/// Gives a descriptor of the process (`pidfd`), which nothing else waits for.
int inflight_start_decoder(const char *_Nonnull path, int requests, int control);

/// Kills the process, waits for its end and closes the descriptor. Gives the signal that ended it, or 256 and its exit
/// status; 0 where nothing is known of its end.
int inflight_end_process(int process);

/// Sends one message, and a descriptor with it unless `descriptor` is negative. Gives 0; `-EPIPE`: nobody is there.
int inflight_send(int socket, const void *_Nonnull bytes, size_t count, int descriptor);

/// Takes one message, which may bring one descriptor, closed in every program that is started; others are closed.
///
/// Gives its length, 0 where the other side has ended, `-EMSGSIZE` where it is longer than `count`.
ssize_t inflight_receive(int socket, void *_Nonnull bytes, size_t count, int *_Nonnull descriptor);

/// Waits until there is something to take, or the other side has ended. Gives 1, or 0 after that many milliseconds.
int inflight_wait_readable(int socket, int milliseconds);

/// Memory that can be shared by handing its descriptor on: of that size for good.
int inflight_shared_memory(size_t count);

/// Sees to it that nobody can change the memory any more, also where it is mapped later. It may not be mapped for
/// writing.
int inflight_seal(int memory);

/// Whether the memory is sealed, so that neither its size nor its bytes ever change; and its size.
int inflight_is_sealed(int memory, size_t *_Nonnull count);

enum inflight_mapping {
    inflight_read_only,
    inflight_writable,
    /// All of it is there at once, for whoever writes all of it: cheaper than page by page.
    inflight_filled,
};

void *_Nullable inflight_map(int memory, size_t count, enum inflight_mapping mapping);
void inflight_unmap(void *_Nonnull memory, size_t count);

/// Closes all descriptors from `first` on.
void inflight_close_from(int first);
