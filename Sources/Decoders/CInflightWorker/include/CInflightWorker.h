#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Decoder processes, and the sockets and shared memory between them and the program. Errors are negative error numbers.

/// Creates a pair of connected sockets that preserve message boundaries (`SOCK_SEQPACKET`). Both are close-on-exec, and
/// above the descriptors that a decoder is given.
int inflight_socket_pair(int *_Nonnull mine, int *_Nonnull theirs);

/// Starts the decoder at `path`. Its descriptor 3 is `requests`, 4 is `control`, and its standard streams are
/// `/dev/null`. It has no others, except with a C library older than glibc 2.34, where it inherits those that are not
/// close-on-exec. Its environment is `LC_ALL=C`. It has its own process group and the default signal handling.
///
/// Returns a descriptor of the process (`pidfd`), to be passed to `inflight_end_process`.
int inflight_start_decoder(const char *_Nonnull path, int requests, int control);

/// Kills the process, waits for its end and closes the descriptor. Returns the signal that ended the process, or 256
/// plus its exit status, or 0 if its status is unknown.
int inflight_end_process(int process);

/// Sends one message, with a descriptor unless `descriptor` is negative. If the peer has not received earlier ones, it
/// waits once for up to `milliseconds`. Returns 0, `-EAGAIN` if the message was not sent yet, or `-EPIPE` if the peer
/// has closed its socket.
int inflight_send(int socket, const void *_Nonnull bytes, size_t count, int descriptor, int milliseconds);

/// Receives one message, with at most one descriptor, which is close-on-exec. `*descriptor` is -1 if there is none.
/// Further descriptors are closed.
///
/// Returns the message's length, 0 if the peer has closed its socket, or `-EMSGSIZE` if the message is longer than
/// `count`.
ssize_t inflight_receive(int socket, void *_Nonnull bytes, size_t count, int *_Nonnull descriptor);

/// Waits until a message has arrived or the peer has closed its socket. Returns 1, or 0 after `milliseconds` or a
/// signal.
int inflight_wait_readable(int socket, int milliseconds);

/// Creates shared memory of a fixed size, and returns its descriptor, which can be sent to another process.
int inflight_shared_memory(size_t count);

/// Seals the memory against all changes, including through later mappings. Fails while a writable mapping exists.
int inflight_seal(int memory);

/// Returns the size of memory that is sealed against changes of its size, and of its bytes too if `is_immutable`.
/// Otherwise returns -1.
ssize_t inflight_fixed_size(int memory, int is_immutable);

enum inflight_mapping {
    inflight_read_only,
    inflight_writable,
    /// Writable, with all pages allocated at once. Cheaper than one fault per page if all of the memory is written.
    inflight_filled,
};

void *_Nullable inflight_map(int memory, size_t count, enum inflight_mapping mapping);
void inflight_unmap(void *_Nonnull memory, size_t count);

/// Closes all descriptors from `first` upwards.
void inflight_close_from(int first);
