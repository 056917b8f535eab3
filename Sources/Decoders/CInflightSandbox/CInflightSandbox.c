#define _GNU_SOURCE
#include "CInflightSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void inflight_use_one_arena(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

int inflight_unshare_namespaces(void) {
    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ? -errno : 0;
}

int inflight_enter_empty_root(void) {
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    // pivot_root fails while the root mount is shared. /proc certainly exists: `inflight_limit_resources` reads a file
    // there.
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
        || mount("none", "/proc", "tmpfs", flags, "size=4k,nr_inodes=1,mode=555") < 0 || chdir("/proc") < 0
        // With the same folder for both (see pivot_root(2)), the old root covers the new one until it is detached.
        || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return -errno;
    return 0;
}

int inflight_restrict_files(void) {
    struct landlock_ruleset_attr rules;
    memset(&rules, 0, sizeof rules);
    // All rights of Landlock's first version: execute, write, read, list, remove, and create each kind of file.
    rules.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (set < 0) return -errno;
    int status = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, set, 0) < 0;
    int error = errno;
    close(set);
    return status ? -error : 0;
}

int inflight_drop_privileges(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);
    if (syscall(SYS_capset, &header, none) < 0) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
    return 0;
}

static int limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) < 0) return -errno;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
    struct rlimit wanted = {most, most};
    return setrlimit(resource, &wanted) < 0 ? -errno : 0;
}

// Returns the size of the address space in pages, which is the first number in statm; -1 on failure.
static long mapped_pages(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = -1;
    if (!file) return -1;
    if (fscanf(file, "%ld", &pages) != 1) pages = -1;
    fclose(file);
    return pages;
}

static size_t stack_size(void) {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    return size;
}

int inflight_limit_resources(size_t memory, size_t file, unsigned descriptors, unsigned long seconds) {
    long pages = mapped_pages();
    rlim_t mapped = 0, all;
    if (pages < 0 || __builtin_mul_overflow((rlim_t)pages, (rlim_t)sysconf(_SC_PAGESIZE), &mapped)
        || __builtin_add_overflow(mapped, (rlim_t)memory, &all) || __builtin_add_overflow(all, stack_size(), &all))
        return -EOVERFLOW;
    int status = limit(RLIMIT_AS, all);
    if (!status) status = limit(RLIMIT_FSIZE, file);
    if (!status) status = limit(RLIMIT_NOFILE, descriptors);
    if (!status) status = limit(RLIMIT_CPU, seconds);
    if (!status) status = limit(RLIMIT_CORE, 0);
    return status;
}

// Allowed with any arguments.
static const int allowed[] = {
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(lseek), SCMP_SYS(ftruncate),
    SCMP_SYS(memfd_create), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
    SCMP_SYS(membarrier), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(times), SCMP_SYS(getrusage),
    SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

// No decoder makes these calls, not even to probe for support. A process that does has been compromised, and is killed.
static const int deadly[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(socket), SCMP_SYS(connect),
    SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(mount), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(bpf), SCMP_SYS(kexec_load), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(io_uring_setup), SCMP_SYS(userfaultfd), SCMP_SYS(perf_event_open),
};

static const int descriptor_commands[] = {F_GETFD, F_SETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS};

static int add_rules(scmp_filter_ctx filter) {
    int status = 0;
    for (size_t index = 0; index < sizeof allowed / sizeof *allowed && !status; index++)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[index], 0);
    for (size_t index = 0; index < sizeof deadly / sizeof *deadly && !status; index++)
        status = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, deadly[index], 0);
    for (size_t index = 0; index < sizeof descriptor_commands / sizeof *descriptor_commands && !status; index++)
        status = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)descriptor_commands[index]));
    // Allow memory that is not executable.
    if (!status)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (!status)
        status =
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    // Allow threads, but no processes. A filter cannot inspect the arguments of clone3, which are in memory. ENOSYS
    // makes the C library fall back to clone.
    if (!status)
        status = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    if (!status)
        status = seccomp_rule_add(
            filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    if (!status) status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    // Report success without a lookup: a library that checks whether the file of a loaded font exists then uses the
    // font.
    const int asks[] = {SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2)};
    for (size_t index = 0; index < sizeof asks / sizeof *asks && !status; index++)
        status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), asks[index], 0);
    // Allow signals to this process, because abort needs them.
    if (!status)
        status = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    if (!status)
        status =
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)PR_SET_NAME));
    // Allow reading limits, but not setting them.
    if (!status)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0));
    // Newer C libraries implement `fstat` by this call, with an empty path.
    if (!status)
        status = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
    return status;
}

int inflight_filter_system_calls(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter) return -ENOMEM;
    int status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (!status) status = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!status) status = add_rules(filter);
    // Optimise the filter to a binary tree, which needs fewer steps for each call than a list.
    if (!status) seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (!status) status = seccomp_load(filter);
    seccomp_release(filter);
    return status;
}
