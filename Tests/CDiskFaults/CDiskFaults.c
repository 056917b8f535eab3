#define _GNU_SOURCE

#include "CDiskFaults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>

struct disk_faults {
    // Must be the first member: SQLite passes its address to every method, which casts it to this structure.
    sqlite3_vfs vfs;
    sqlite3_vfs *system;
    char name[64];
    pthread_mutex_t lock;
    enum disk_fault fault;
    int64_t first, count, calls;
    bool stays;
    const char *struck;
};

// SQLite's file object. The default VFS's file object follows it in memory.
struct file {
    sqlite3_file base;
    struct disk_faults *faults;
};

static sqlite3_file *own(sqlite3_file *file) { return (sqlite3_file *)((char *)file + sizeof(struct file)); }

// The kind of an operation, which decides the faults that apply to it. Only an operation on bytes can be half done.
enum { READS = 1, WRITES = 2, BYTES = 4 };

static enum disk_fault strike(struct disk_faults *faults, const char *operation, int kinds) {
    pthread_mutex_lock(&faults->lock);
    enum disk_fault result = DISK_FAULT_NONE;
    faults->calls++;
    bool applies = faults->fault == DISK_FAULT_INPUT_OUTPUT || (faults->fault == DISK_FAULT_SHORT && kinds & BYTES) ||
                   (faults->fault >= DISK_FAULT_NO_SPACE && kinds & WRITES);
    if (applies) {
        faults->count++;
        if (faults->count == faults->first || (faults->stays && faults->count > faults->first)) {
            result = faults->fault;
            if (!faults->struck) faults->struck = operation;
        }
    }
    pthread_mutex_unlock(&faults->lock);
    return result;
}

static enum disk_fault strike_file(sqlite3_file *file, const char *operation, int kinds) {
    return strike(((struct file *)file)->faults, operation, kinds);
}

static int close_file(sqlite3_file *file) { return own(file)->pMethods->xClose(own(file)); }

static int read_file(sqlite3_file *file, void *room, int count, sqlite3_int64 offset) {
    switch (strike_file(file, "read", READS | BYTES)) {
    case DISK_FAULT_NONE: return own(file)->pMethods->xRead(own(file), room, count, offset);
    case DISK_FAULT_SHORT:
        // SQLite requires a short read to fill the rest with zeros.
        own(file)->pMethods->xRead(own(file), room, count, offset);
        memset((char *)room + count / 2, 0, count - count / 2);
        return SQLITE_IOERR_SHORT_READ;
    default: return SQLITE_IOERR_READ;
    }
}

static int write_file(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    enum disk_fault fault = strike_file(file, "write", WRITES | BYTES);
    switch (fault) {
    case DISK_FAULT_NONE: return own(file)->pMethods->xWrite(own(file), bytes, count, offset);
    case DISK_FAULT_LOST: return SQLITE_OK;
    case DISK_FAULT_INPUT_OUTPUT: return SQLITE_IOERR_WRITE;
    default:
        own(file)->pMethods->xWrite(own(file), bytes, count / 2, offset);
        return fault == DISK_FAULT_NO_SPACE ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) {
    switch (strike_file(file, "truncate", WRITES)) {
    case DISK_FAULT_NONE: return own(file)->pMethods->xTruncate(own(file), size);
    case DISK_FAULT_LOST: return SQLITE_OK;
    default: return SQLITE_IOERR_TRUNCATE;
    }
}

static int sync_file(sqlite3_file *file, int flags) {
    switch (strike_file(file, "sync", WRITES)) {
    case DISK_FAULT_NONE: return own(file)->pMethods->xSync(own(file), flags);
    case DISK_FAULT_LOST: return SQLITE_OK;
    default: return SQLITE_IOERR_FSYNC;
    }
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    if (strike_file(file, "size", READS) != DISK_FAULT_NONE) return SQLITE_IOERR_FSTAT;
    return own(file)->pMethods->xFileSize(own(file), size);
}

static int lock_file(sqlite3_file *file, int level) {
    if (strike_file(file, "lock", READS) != DISK_FAULT_NONE) return SQLITE_IOERR_LOCK;
    return own(file)->pMethods->xLock(own(file), level);
}

static int unlock_file(sqlite3_file *file, int level) { return own(file)->pMethods->xUnlock(own(file), level); }

static int check_reserved(sqlite3_file *file, int *is_reserved) {
    return own(file)->pMethods->xCheckReservedLock(own(file), is_reserved);
}

static int control(sqlite3_file *file, int operation, void *argument) {
    return own(file)->pMethods->xFileControl(own(file), operation, argument);
}

static int sector_size(sqlite3_file *file) { return own(file)->pMethods->xSectorSize(own(file)); }

static int characteristics(sqlite3_file *file) { return own(file)->pMethods->xDeviceCharacteristics(own(file)); }

static int shm_map(sqlite3_file *file, int page, int size, int extends, void volatile **memory) {
    enum disk_fault fault = strike_file(file, "map", extends ? READS | WRITES : READS);
    // A lost operation reports success, which is impossible without the memory, so it maps the memory as usual.
    if (fault != DISK_FAULT_NONE && fault != DISK_FAULT_LOST) {
        *memory = 0;
        return fault == DISK_FAULT_NO_SPACE ? SQLITE_IOERR_SHMSIZE : SQLITE_IOERR_SHMMAP;
    }
    return own(file)->pMethods->xShmMap(own(file), page, size, extends, memory);
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    if (!(flags & SQLITE_SHM_UNLOCK) && strike_file(file, "shared lock", READS) != DISK_FAULT_NONE)
        return SQLITE_IOERR_SHMLOCK;
    return own(file)->pMethods->xShmLock(own(file), offset, count, flags);
}

static void shm_barrier(sqlite3_file *file) { own(file)->pMethods->xShmBarrier(own(file)); }

static int shm_unmap(sqlite3_file *file, int removes) { return own(file)->pMethods->xShmUnmap(own(file), removes); }

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *flags_out) {
    struct disk_faults *faults = (struct disk_faults *)vfs;
    file->pMethods = 0;
    // Opening an existing file needs no disk space.
    int is_there = 0;
    if (name) faults->system->xAccess(faults->system, name, SQLITE_ACCESS_EXISTS, &is_there);
    enum disk_fault fault = strike(faults, "open", is_there ? READS : READS | WRITES);
    if (fault != DISK_FAULT_NONE && fault != DISK_FAULT_LOST) return SQLITE_CANTOPEN;
    ((struct file *)file)->faults = faults;
    int status = faults->system->xOpen(faults->system, name, own(file), flags, flags_out);
    if (own(file)->pMethods) file->pMethods = &methods;
    return status;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int syncs) {
    struct disk_faults *faults = (struct disk_faults *)vfs;
    switch (strike(faults, "delete", WRITES)) {
    case DISK_FAULT_NONE: return faults->system->xDelete(faults->system, name, syncs);
    case DISK_FAULT_LOST: return SQLITE_OK;
    default: return SQLITE_IOERR_DELETE;
    }
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    struct disk_faults *faults = (struct disk_faults *)vfs;
    if (strike(faults, "access", READS) != DISK_FAULT_NONE) return SQLITE_IOERR_ACCESS;
    return faults->system->xAccess(faults->system, name, flags, result);
}

static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *path) {
    struct disk_faults *faults = (struct disk_faults *)vfs;
    return faults->system->xFullPathname(faults->system, name, size, path);
}

disk_faults *disk_faults_make(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int made = 0;
    struct disk_faults *faults = calloc(1, sizeof *faults);
    if (!faults) return 0;
    pthread_mutex_init(&faults->lock, 0);
    pthread_mutex_lock(&lock);
    snprintf(faults->name, sizeof faults->name, "faults-%d", made++);
    pthread_mutex_unlock(&lock);
    faults->system = sqlite3_vfs_find(0);
    if (!faults->system) {
        free(faults);
        return 0;
    }
    // The methods for time, random numbers and sleeping stay those of the default VFS.
    faults->vfs = *faults->system;
    faults->vfs.szOsFile += (int)sizeof(struct file);
    faults->vfs.zName = faults->name;
    faults->vfs.pNext = 0;
    faults->vfs.xOpen = open_file;
    faults->vfs.xDelete = delete_file;
    faults->vfs.xAccess = access_file;
    faults->vfs.xFullPathname = full_path;
    sqlite3_vfs_register(&faults->vfs, 0);
    return faults;
}

void disk_faults_free(disk_faults *faults) {
    sqlite3_vfs_unregister(&faults->vfs);
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}

const char *disk_faults_name(const disk_faults *faults) { return faults->name; }

void disk_faults_plan(disk_faults *faults, enum disk_fault fault, int64_t first, bool stays) {
    pthread_mutex_lock(&faults->lock);
    faults->fault = fault;
    faults->first = first;
    faults->stays = stays;
    faults->count = 0;
    faults->struck = 0;
    pthread_mutex_unlock(&faults->lock);
}

const char *disk_faults_struck(disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    const char *struck = faults->struck ? faults->struck : "nothing";
    pthread_mutex_unlock(&faults->lock);
    return struck;
}

bool disk_faults_has_struck(disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    bool has = faults->struck != 0;
    pthread_mutex_unlock(&faults->lock);
    return has;
}

int64_t disk_faults_calls(disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    int64_t calls = faults->calls;
    pthread_mutex_unlock(&faults->lock);
    return calls;
}

void disk_faults_become(uint32_t user) { setfsuid(user); }
