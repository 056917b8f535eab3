#pragma once

#if !__has_include(<seccomp.h>)
#error "libseccomp 2.5 or later is missing: install the Debian package libseccomp-dev"
#endif

#include <stddef.h>

// The steps by which a process drops its privileges before it decodes untrusted input. All but the first return 0, or a
// negative error number.

/// Makes all threads allocate from one arena. Arenas per thread would use up the address space that
/// `inflight_limit_resources` limits. The arena keeps up to 8 MiB of freed memory for the next image.
void inflight_use_one_arena(void);

/// Moves the process to new mount, network, IPC and UTS namespaces, and to a user namespace without any user. Must be
/// called before a second thread exists. Some systems do not permit this to unprivileged processes.
int inflight_unshare_namespaces(void);

/// Replaces the root folder of all threads with an empty, read-only one, so that no path resolves to a file. Requires
/// `inflight_unshare_namespaces`. Files that will be read must already be open.
int inflight_enter_empty_root(void);

/// Gives up access to all files that are not already open, by Landlock. Requires Linux 5.13.
int inflight_restrict_files(void);

/// Drops all capabilities, and disables new privileges, ptrace and core files.
int inflight_drop_privileges(void);

/// Limits the process's resources, and disables core files. Lower existing limits stay.
///
/// - memory: the maximum number of bytes of address space, beyond what is mapped and the stack of one more thread.
/// - file: the maximum size in bytes of a file or of shared memory.
/// - descriptors: the limit on open descriptors (`RLIMIT_NOFILE`).
/// - seconds: the maximum CPU time.
int inflight_limit_resources(size_t memory, size_t file, unsigned descriptors, unsigned long seconds);

/// Installs a seccomp filter for all threads. It allows memory, threads, time, and I/O on open descriptors. An attempt
/// to start a program or process or to open a socket kills the process. Other calls fail with `EPERM`.
int inflight_filter_system_calls(void);
