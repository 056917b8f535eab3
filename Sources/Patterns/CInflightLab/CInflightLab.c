#define _GNU_SOURCE
#include "CInflightLab.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

long lab_thread_number(void) {
    return syscall(SYS_gettid);
}

int lab_use_one_processor(void) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &allowed)) continue;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        return sched_setaffinity(0, sizeof one, &one);
    }
    return -1;
}

int lab_prepare_child(int parent) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have exited before prctl took effect.
    return getppid() == parent ? 0 : -1;
}
