#define _GNU_SOURCE
#include "CInflightBatch.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int inflight_synchronize_all(int descriptor) { return syncfs(descriptor); }

int inflight_exchange(const char *path, const char *other) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE);
}
