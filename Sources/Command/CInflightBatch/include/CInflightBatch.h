#pragma once

#include <stddef.h>
#include <stdint.h>

// Calls of the system that Swift's Glibc module does not have, and of OpenSSL.

/// Writes all files of the file system of `descriptor` to the disk. Returns 0, or −1 with `errno`.
int inflight_synchronize_all(int descriptor);

/// Exchanges two files or folders atomically. Returns 0, or −1 with `errno`.
int inflight_exchange(const char *_Nonnull path, const char *_Nonnull other);

/// Writes the SHA-256 of `count` bytes to `digest`, 32 bytes. Returns 0, or −1 without memory.
int inflight_sha256(const void *_Nullable bytes, size_t count, unsigned char *_Nonnull digest);

/// Writes the MD5 of `count` bytes to `digest`, 16 bytes. Returns 0, or −1 if OpenSSL does not have it.
int inflight_md5(const void *_Nullable bytes, size_t count, unsigned char *_Nonnull digest);

/// Writes the base64 text (RFC 4648 section 4) of `count` bytes and a zero byte to `text`, which has room for
/// 4 ⌈count ÷ 3⌉ + 1 bytes. Returns the length of the text without the zero byte.
int inflight_base64(const unsigned char *_Nullable bytes, int count, unsigned char *_Nonnull text);

/// Creates a pipe, whose ends programs that this one starts do not inherit. Returns 0, or −1 with `errno`.
int inflight_pipe(int *_Nonnull ends);

/// Waits until the file `process` can be read. Returns 0, `ETIMEDOUT` after a time, `ECANCELED` if `cancel` can be read
/// or is closed at its other end, or another error number. Either file may be −1.
int inflight_wait(int process, int cancel, int64_t milliseconds);

/// Runs a program with one argument, without standard input, and with standard error in place of standard output, in a
/// process group of its own. Returns 0 and its status as `waitpid` does, or the number of an error: `ETIMEDOUT` and
/// `ECANCELED` as ``inflight_wait``. In either case the group is ended by SIGTERM, or by SIGKILL half a second later.
int inflight_run(
    const char *_Nonnull program, const char *_Nonnull argument, int cancel, int64_t milliseconds,
    int *_Nonnull status);
