#include "CInflightSQLite.h"

#include <stdlib.h>
#include <string.h>

// The sizes in bytes of a frame's header (https://www.sqlite.org/fileformat2.html#walformat), of SQLite's largest page,
// and of the frames that are written together.
enum { HEADER = 24, PAGE = 64 << 10, CAPACITY = 128 << 10 };

// SQLite's file object for a write-ahead log. The default VFS's file object follows it in memory.
//
// SQLite writes a frame's header and its page separately. Frames are gathered here and written together: the last one
// of a transaction, which its header marks, writes all of them before SQLite publishes the transaction.
struct limited_log {
    sqlite3_file base;
    sqlite3_int64 limit;
    // The gathered frames, and their offset in the file.
    char *frames;
    int count;
    sqlite3_int64 offset;
    // Whether the last frame among them ends a transaction.
    int is_last;
    // The end of the last frame that this connection has appended, and the offset of the page of the last frame whose
    // header was not gathered.
    sqlite3_int64 end, page;
};

static sqlite3_vfs *system_files;

static struct limited_log *log_of(sqlite3_file *file) { return (struct limited_log *)file; }

static sqlite3_file *under(sqlite3_file *file) { return (sqlite3_file *)(log_of(file) + 1); }

static int write_frames(sqlite3_file *file) {
    struct limited_log *log = log_of(file);
    int count = log->count;
    log->count = 0;
    return count == 0 ? SQLITE_OK : under(file)->pMethods->xWrite(under(file), log->frames, count, log->offset);
}

static int close_log(sqlite3_file *file) {
    // Gathered frames belong to a transaction that has not been committed.
    free(log_of(file)->frames);
    log_of(file)->frames = NULL;
    return under(file)->pMethods->xClose(under(file));
}

static int read_log(sqlite3_file *file, void *room, int count, sqlite3_int64 offset) {
    int status = write_frames(file);
    return status ? status : under(file)->pMethods->xRead(under(file), room, count, offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct limited_log *log = log_of(file);
    if (offset > log->limit - count) return INFLIGHT_SQLITE_LOG_FULL;
    int is_header = count == HEADER, needed = is_header ? HEADER + PAGE : count;
    int is_next = log->count > 0 && offset == log->offset + log->count && needed <= CAPACITY - log->count;
    int status = is_next ? SQLITE_OK : write_frames(file);
    if (status) return status;
    if (!log->frames) log->frames = malloc(CAPACITY);
    // Before `end`, SQLite changes a frame that it has written, and not always all of it.
    if (log->frames && (is_header ? offset >= log->end : is_next)) {
        if (!is_next) log->offset = offset;
        memcpy(log->frames + log->count, bytes, (size_t)count);
        log->count += count;
        // The size of the database after the transaction, in the header of its last frame.
        if (is_header) log->is_last = memcmp((const char *)bytes + 4, "\0\0\0\0", 4) != 0;
        if (is_header) return SQLITE_OK;
        log->end = offset + count;
        return log->is_last ? write_frames(file) : SQLITE_OK;
    }
    if ((status = under(file)->pMethods->xWrite(under(file), bytes, count, offset))) return status;
    // Another connection may have restarted the log.
    if (offset == 0 || (!is_header && offset == log->page)) log->end = offset + count;
    log->page = is_header ? offset + count : -1;
    return SQLITE_OK;
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    int status = write_frames(file);
    return status ? status : under(file)->pMethods->xTruncate(under(file), size);
}

static int synchronize_log(sqlite3_file *file, int flags) {
    int status = write_frames(file);
    return status ? status : under(file)->pMethods->xSync(under(file), flags);
}

static int size_log(sqlite3_file *file, sqlite3_int64 *size) {
    int status = write_frames(file);
    return status ? status : under(file)->pMethods->xFileSize(under(file), size);
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
    struct limited_log *log = log_of(file);
    memset(log, 0, sizeof *log + (size_t)system_files->szOsFile);
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
    if (status == SQLITE_OK && file && file->pMethods == &limited_methods) log_of(file)->limit = limit;
}
