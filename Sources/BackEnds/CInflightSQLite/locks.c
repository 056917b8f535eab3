#define _GNU_SOURCE

#include "CInflightSQLite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct flock range(short type, int64_t start, int64_t length) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return lock;
}

int inflight_lock(int descriptor, enum inflight_lock_kind kind, int64_t start, int64_t length) {
    static const short types[] = {F_RDLCK, F_WRLCK, F_UNLCK};
    struct flock lock = range(types[kind], start, length);
    int status;
    do {
        status = fcntl(descriptor, F_OFD_SETLK, &lock);
    } while (status != 0 && errno == EINTR);
    if (status == 0) return 0;
    return errno == EACCES ? EAGAIN : errno;
}

bool inflight_lock_is_held(int descriptor, int64_t start, int64_t length) {
    struct flock lock = range(F_WRLCK, start, length);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return true;
    return lock.l_type != F_UNLCK;
}
