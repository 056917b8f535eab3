#define _GNU_SOURCE
#include "system_calls.h"

#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

int inflight_wake_descriptor(void) {
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

int inflight_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
