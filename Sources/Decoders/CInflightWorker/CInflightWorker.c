#define _GNU_SOURCE
#include "CInflightWorker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Missing from older kernel and C library headers.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

// The lowest descriptor for this program's sockets, above those that a decoder is given.
enum { first_free = 16 };

static int move_up(int *descriptor) {
    int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, first_free);
    int error = errno;
    close(*descriptor);
    *descriptor = moved;
    return moved < 0 ? -error : 0;
}

int inflight_socket_pair(int *mine, int *theirs) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    int first = move_up(&pair[0]), second = move_up(&pair[1]);
    if (first < 0 || second < 0) {
        if (first == 0) close(pair[0]);
        if (second == 0) close(pair[1]);
        return first < 0 ? first : second;
    }
    *mine = pair[0];
    *theirs = pair[1];
    return 0;
}

int inflight_start_decoder(const char *path, int requests, int control) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return -error;
    if ((error = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return -error;
    }
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    for (int target = 0; target < 3 && !error; target++)
        error = posix_spawn_file_actions_addopen(&actions, target, "/dev/null", target == 0 ? O_RDONLY : O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, requests, 3);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, control, 4);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 5);
#endif
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    // In a process group of its own, a decoder does not get the SIGINT of Ctrl-C. The program ends its decoders itself.
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t process = 0;
    char *arguments[] = {"inflight-decoder", NULL}, *environment[] = {"LC_ALL=C", NULL};
    if (!error) error = posix_spawn(&process, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error) return -error;
    int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
    if (descriptor < 0) {
        error = errno;
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
        return -error;
    }
    return descriptor;
}

int inflight_end_process(int process) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    // A process that has already ended keeps its status.
    syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
    int status;
    do {
        status = waitid((idtype_t)P_PIDFD, (id_t)process, &info, WEXITED);
    } while (status < 0 && errno == EINTR);
    close(process);
    // If this program ignores SIGCHLD, the kernel reaps its children, and their status is lost.
    if (status < 0) return 0;
    return info.si_code == CLD_EXITED ? 256 + info.si_status : info.si_status;
}

int inflight_send(int socket, const void *bytes, size_t count, int descriptor, int milliseconds) {
    struct iovec part = {(void *)bytes, count};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    int has_waited = 0;
    while (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        int error = errno;
        if (error == EINTR) continue;
        if (error != EAGAIN && error != ETOOMANYREFS) return -error;
        if (has_waited || milliseconds == 0) return -EAGAIN;
        has_waited = 1;
        // The kernel counts the descriptors that all processes of a user have sent and nobody has received yet. It
        // allows a decoder as few of them as it may open, so one of many decoders waits until the programs have
        // received some. No event reports that.
        struct pollfd one = {socket, POLLOUT, 0};
        if (error == ETOOMANYREFS) poll(NULL, 0, 1);
        else poll(&one, 1, milliseconds);
    }
    return 0;
}

ssize_t inflight_receive(int socket, void *bytes, size_t count, int *descriptor) {
    struct iovec part = {bytes, count};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    *descriptor = -1;
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return errno == ECONNRESET ? 0 : -errno;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < descriptors; index++) {
            int found;
            memcpy(&found, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
            if (*descriptor < 0) *descriptor = found;
            else close(found);
        }
    }
    if (message.msg_flags & MSG_TRUNC) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
        return -EMSGSIZE;
    }
    return received;
}

int inflight_wait_readable(int socket, int milliseconds) {
    struct pollfd one = {socket, POLLIN, 0};
    // A signal may end the wait early. Callers check the time themselves.
    return poll(&one, 1, milliseconds) > 0;
}

int inflight_shared_memory(size_t count) {
    int memory = memfd_create("inflight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0) return -errno;
    if (ftruncate(memory, (off_t)count) < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        int error = errno;
        close(memory);
        return -error;
    }
    return memory;
}

int inflight_seal(int memory) {
    return fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0 ? -errno : 0;
}

ssize_t inflight_fixed_size(int memory, int is_immutable) {
    struct stat status;
    int seals = fcntl(memory, F_GET_SEALS), wanted = F_SEAL_SHRINK | F_SEAL_GROW | (is_immutable ? F_SEAL_WRITE : 0);
    if (seals < 0 || (seals & wanted) != wanted || fstat(memory, &status) < 0) return -1;
    return status.st_size;
}

void *inflight_map(int memory, size_t count, enum inflight_mapping mapping) {
    int rights = mapping == inflight_read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    void *mapped =
        mmap(NULL, count, rights, MAP_SHARED | (mapping == inflight_filled ? MAP_POPULATE : 0), memory, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void inflight_unmap(void *memory, size_t count) {
    munmap(memory, count);
}

void inflight_close_from(int first) {
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int descriptor = first; descriptor < (most < 0 ? 65536 : most); descriptor++) close(descriptor);
}
