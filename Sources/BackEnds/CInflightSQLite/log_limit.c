#include "CInflightSQLite.h"

#include <string.h>

// SQLite's file object for a write-ahead log. The default VFS's file object follows it in memory.
struct limited_log {
    sqlite3_file base;
    sqlite3_int64 limit;
};

static sqlite3_vfs *system_files;

static sqlite3_file *under(sqlite3_file *file) { return (sqlite3_file *)((struct limited_log *)file + 1); }

static int close_log(sqlite3_file *file) { return under(file)->pMethods->xClose(under(file)); }

static int read_log(sqlite3_file *file, void *room, int count, sqlite3_int64 offset) {
    return under(file)->pMethods->xRead(under(file), room, count, offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    if (offset > ((struct limited_log *)file)->limit - count) return INFLIGHT_SQLITE_LOG_FULL;
    return under(file)->pMethods->xWrite(under(file), bytes, count, offset);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    return under(file)->pMethods->xTruncate(under(file), size);
}

static int synchronize_log(sqlite3_file *file, int flags) { return under(file)->pMethods->xSync(under(file), flags); }

static int size_log(sqlite3_file *file, sqlite3_int64 *size) {
    return under(file)->pMethods->xFileSize(under(file), size);
}

static int lock_log(sqlite3_file *file, int lock) { return under(file)->pMethods->xLock(under(file), lock); }

static int unlock_log(sqlite3_file *file, int lock) { return under(file)->pMethods->xUnlock(under(file), lock); }

static int check_log(sqlite3_file *file, int *is_reserved) {
    return under(file)->pMethods->xCheckReservedLock(under(file), is_reserved);
}

static int control_log(sqlite3_file *file, int operation, void *argument) {
    return under(file)->pMethods->xFileControl(under(file), operation, argument);
}

static int sector_log(sqlite3_file *file) { return under(file)->pMethods->xSectorSize(under(file)); }

static int traits_log(sqlite3_file *file) { return under(file)->pMethods->xDeviceCharacteristics(under(file)); }

// Version 1 of the methods: SQLite shares memory through the database file, never through its log.
static const sqlite3_io_methods limited_methods = {
    1,          close_log,  read_log,    write_log, truncate_log, synchronize_log, size_log, lock_log,
    unlock_log, check_log, control_log, sector_log, traits_log};

static int open_file(sqlite3_vfs *files, const char *name, sqlite3_file *file, int flags, int *flags_out) {
    (void)files;
    if (!(flags & SQLITE_OPEN_WAL)) return system_files->xOpen(system_files, name, file, flags, flags_out);
    struct limited_log *log = (struct limited_log *)file;
    memset(under(file), 0, (size_t)system_files->szOsFile);
    log->limit = INT64_MAX;
    int status = system_files->xOpen(system_files, name, under(file), flags, flags_out);
    log->base.pMethods = under(file)->pMethods ? &limited_methods : NULL;
    return status;
}

const char *inflight_sqlite_register(void) {
    static sqlite3_vfs files;
    system_files = sqlite3_vfs_find(NULL);
    if (!system_files) return NULL;
    // All methods except xOpen are those of the default VFS, which do not depend on the VFS object that they get.
    files = *system_files;
    files.zName = "inflight";
    files.pNext = NULL;
    files.szOsFile += (int)sizeof(struct limited_log);
    files.xOpen = open_file;
    return sqlite3_vfs_register(&files, 0) == SQLITE_OK ? files.zName : NULL;
}

void inflight_sqlite_limit_log(sqlite3 *database, int64_t limit) {
    sqlite3_file *file = NULL;
    int status = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (status == SQLITE_OK && file && file->pMethods == &limited_methods) ((struct limited_log *)file)->limit = limit;
}
