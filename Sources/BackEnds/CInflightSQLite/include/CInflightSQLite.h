#pragma once

#if !__has_include(<sqlite3.h>)
#error "SQLite 3.35 or later is missing: install the Debian package libsqlite3-dev"
#endif

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Wrappers of SQLite's variadic functions and macros, which Swift cannot use.

static inline int inflight_sqlite_set(sqlite3 *_Nonnull database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

static inline int inflight_sqlite_bind_bytes(
    sqlite3_stmt *_Nonnull statement, int position, const void *_Nullable bytes, size_t count) {
    // Not copied: the bytes must stay valid until the statement is reset. A null pointer would bind NULL instead of an
    // empty blob.
    return sqlite3_bind_blob64(statement, position, count == 0 ? "" : bytes, count, SQLITE_STATIC);
}

/// The result of a write beyond the log's limit: an extended code of `SQLITE_FULL` that SQLite itself does not use.
#define INFLIGHT_SQLITE_LOG_FULL (SQLITE_FULL | (77 << 8))

/// Registers a VFS whose write-ahead logs can be limited. Call it once. Returns the VFS's name, or NULL on failure.
const char *_Nullable inflight_sqlite_register(void);

/// Limits the length of a connection's write-ahead log, in bytes, for later writes. The connection must have read in
/// WAL mode. Has no effect on a connection that does not use the registered VFS.
void inflight_sqlite_limit_log(sqlite3 *_Nonnull database, int64_t limit);

// XXH64, by its specification (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md).

struct inflight_checksum {
    uint64_t lanes[4];
    uint64_t seed;
    uint64_t length;
    unsigned char rest[32];
};

void inflight_checksum_begin(struct inflight_checksum *_Nonnull sum, uint64_t seed);
void inflight_checksum_add(struct inflight_checksum *_Nonnull sum, const void *_Nullable bytes, size_t count);
uint64_t inflight_checksum_end(const struct inflight_checksum *_Nonnull sum);

// Open file description locks on ranges of a file. Unlike locks of a process, they also exclude two stores in one
// process. The kernel releases them when the process ends, also after a crash.

enum inflight_lock_kind { INFLIGHT_LOCK_SHARED, INFLIGHT_LOCK_EXCLUSIVE, INFLIGHT_LOCK_NONE };

/// Acquires or releases a lock without waiting. Returns 0, `EAGAIN` if a conflicting lock is held through another open
/// file, or another error number.
int inflight_lock(int descriptor, enum inflight_lock_kind kind, int64_t start, int64_t length);

/// Returns whether any of these bytes is locked through another open file. Also returns true on an error.
bool inflight_lock_is_held(int descriptor, int64_t start, int64_t length);
