#pragma once

// Calls of the system that Swift's Glibc module does not have.

/// Writes all files of the file system of `descriptor` to the disk. Returns 0, or −1 with `errno`.
int inflight_synchronize_all(int descriptor);

/// Exchanges two files or folders atomically. Returns 0, or −1 with `errno`.
int inflight_exchange(const char *_Nonnull path, const char *_Nonnull other);
