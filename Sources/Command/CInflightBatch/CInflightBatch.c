#define _GNU_SOURCE
#include "CInflightBatch.h"

#if !__has_include(<openssl/evp.h>)
#error "OpenSSL 3 is missing: install the Debian package libssl-dev"
#endif

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Missing from older kernel and C library headers.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int inflight_synchronize_all(int descriptor) { return syncfs(descriptor); }

int inflight_exchange(const char *path, const char *other) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE);
}

// OpenSSL looks an algorithm up for each digest, which takes as long as the digest of a URL, unless it was fetched.
static EVP_MD *sha256;

static void fetch_sha256(void) { sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); }

int inflight_sha256(const void *bytes, size_t count, unsigned char *digest) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fetch_sha256);
    return sha256 && EVP_Digest(bytes, count, digest, NULL, sha256, NULL) == 1 ? 0 : -1;
}

int inflight_md5(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_md5(), NULL) == 1 ? 0 : -1;
}

int inflight_base64(const unsigned char *bytes, int count, unsigned char *text) {
    return EVP_EncodeBlock(text, bytes, count);
}

int inflight_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

static int start(const char *program, const char *argument, pid_t *process) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if ((error = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    // Standard output may be the events of --json.
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, 2, 1);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    char *arguments[] = {(char *)program, (char *)argument, NULL};
    if (!error) error = posix_spawn(process, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int64_t milliseconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * (int64_t)1000 + time.tv_nsec / 1000000;
}

int inflight_wait(int process, int cancel, int64_t milliseconds) {
    int64_t end = milliseconds_now() + milliseconds;
    struct pollfd files[] = {{process, POLLIN, 0}, {cancel, POLLIN, 0}};
    while (1) {
        int64_t rest = end - milliseconds_now();
        int count = poll(files, 2, rest < 0 ? 0 : rest > 60000 ? 60000 : (int)rest);
        if (count < 0 && errno != EINTR) return errno;
        if (count > 0) return files[0].revents ? 0 : ECANCELED;
        if (count == 0 && rest <= 0) return ETIMEDOUT;
    }
}

int inflight_run(const char *program, const char *argument, int cancel, int64_t milliseconds, int *status) {
    // If a program ignores SIGCHLD, as it may have inherited, the kernel reaps its children, and their status is lost.
    signal(SIGCHLD, SIG_DFL);
    pid_t process = 0;
    int error = start(program, argument, &process);
    if (error) return error;
    int file = (int)syscall(SYS_pidfd_open, process, 0);
    error = file < 0 ? errno : inflight_wait(file, cancel, milliseconds);
    if (error) {
        // The whole group, so that nothing goes on that the program has started.
        kill(-process, SIGTERM);
        if (file < 0 || inflight_wait(file, -1, 500)) kill(-process, SIGKILL);
    }
    if (file >= 0) close(file);
    while (waitpid(process, status, 0) < 0)
        if (errno != EINTR) return error ? error : errno;
    return error;
}
