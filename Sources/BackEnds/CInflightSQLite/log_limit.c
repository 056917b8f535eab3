#include "CInflightSQLite.h"

#include <stdlib.h>
#include <string.h>

// The sizes in bytes of a frame's header (https://www.sqlite.org/fileformat2.html#walformat) and of SQLite's largest
// page.
enum { HEADER = 24, PAGE = 64 << 10 };

// SQLite's file object for a write-ahead log. The default VFS's file object follows it in memory.
struct limited_log {
    sqlite3_file base;
    sqlite3_int64 limit;
    // Memory for a frame. SQLite appends a frame in two calls, first its header, then its page. They become one.
    char *frame;
    // The offset of the header that waits in `frame` for its page, or -1.
    sqlite3_int64 header;
    // The end of the last frame that this connection has appended, and the offset of the page of a frame whose header
    // was not kept for it. Before `end`, SQLite may write a header alone, to change a checksum.
    sqlite3_int64 end, page;
};

static sqlite3_vfs *system_files;

static sqlite3_file *under(sqlite3_file *file) { return (sqlite3_file *)((struct limited_log *)file + 1); }

static int close_log(sqlite3_file *file) {
    free(((struct limited_log *)file)->frame);
    ((struct limited_log *)file)->frame = NULL;
    return under(file)->pMethods->xClose(under(file));
}

static int read_log(sqlite3_file *file, void *room, int count, sqlite3_int64 offset) {
    return under(file)->pMethods->xRead(under(file), room, count, offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct limited_log *log = (struct limited_log *)file;
    sqlite3_int64 header = log->header;
    log->header = -1;
    if (offset > log->limit - count) return INFLIGHT_SQLITE_LOG_FULL;
    if (count == HEADER && offset >= log->end && (log->frame || (log->frame = malloc(HEADER + PAGE)))) {
        memcpy(log->frame, bytes, HEADER);
        log->header = offset;
        return SQLITE_OK;
    }
    int is_page = header >= 0 && offset == header + HEADER && count <= PAGE;
    if (is_page) memcpy(log->frame + HEADER, bytes, (size_t)count);
    int status = is_page ? under(file)->pMethods->xWrite(under(file), log->frame, HEADER + count, header)
                         : under(file)->pMethods->xWrite(under(file), bytes, count, offset);
    if (status) return status;
    // The log starts again at its own header, of 32 bytes, or where another connection has restarted it.
    if (is_page || offset == 0 || offset == log->page) log->end = offset + count;
    log->page = count == HEADER ? offset + HEADER : -1;
    return SQLITE_OK;
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
    log->frame = NULL;
    log->header = log->page = -1;
    log->end = 0;
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
