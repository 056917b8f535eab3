#pragma once

#if !__has_include(<sqlite3.h>)
#error "SQLite 3.35 or later is missing: install the Debian package libsqlite3-dev"
#endif

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// SQLite's functions with a variable number of arguments, which Swift cannot call.

static inline int inflight_sqlite_set(sqlite3 *_Nonnull database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

static inline int inflight_sqlite_bind_bytes(
    sqlite3_stmt *_Nonnull statement, int position, const void *_Nullable bytes, size_t count) {
    // Not copied: the caller keeps them until the statement is reset. A null pointer would be NULL, not no bytes.
    return sqlite3_bind_blob64(statement, position, count == 0 ? "" : bytes, count, SQLITE_STATIC);
}

/// What a write into a log that is full fails with: an extended `SQLITE_FULL` that SQLite itself does not use.
#define INFLIGHT_SQLITE_LOG_FULL (SQLITE_FULL | (77 << 8))

/// Registers a way to files whose write-ahead logs can be limited. Once; gives its name, or NULL where that fails.
const char *_Nullable inflight_sqlite_register(void);

/// Limits the length of a connection's log, in bytes, from here on. The connection has to have read in WAL mode; one
/// that does not use that way to files has no limit.
void inflight_sqlite_limit_log(sqlite3 *_Nonnull database, int64_t limit);

// XXH64, after its specification (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md).

struct inflight_checksum {
    uint64_t lanes[4];
    uint64_t seed;
    uint64_t length;
    unsigned char rest[32];
};

void inflight_checksum_begin(struct inflight_checksum *_Nonnull sum, uint64_t seed);
void inflight_checksum_add(struct inflight_checksum *_Nonnull sum, const void *_Nullable bytes, size_t count);
uint64_t inflight_checksum_end(const struct inflight_checksum *_Nonnull sum);

// Locks on ranges of a file that belong to the open file, not to the process: two stores of one process exclude each
// other too, and the kernel lets go of them when their process ends, however it ends.

enum inflight_lock_kind { INFLIGHT_LOCK_SHARED, INFLIGHT_LOCK_EXCLUSIVE, INFLIGHT_LOCK_NONE };

/// Does not wait. Gives 0, `EAGAIN` where somebody else holds what excludes it, or another error number.
int inflight_lock(int descriptor, enum inflight_lock_kind kind, int64_t start, int64_t length);

/// Whether somebody else holds any of these bytes; or that cannot be found out.
bool inflight_lock_is_held(int descriptor, int64_t start, int64_t length);
