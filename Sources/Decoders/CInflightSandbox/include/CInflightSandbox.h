#pragma once

#if !__has_include(<seccomp.h>)
#error "libseccomp 2.5 or later is missing: install the Debian package libseccomp-dev"
#endif

#include <stddef.h>

// What a process gives up before it decodes a stranger's bytes. Each part tells 0, or a negative error number.

/// Has all threads allocate from one heap: each of its own would take address space that is limited below. It keeps a
/// few million bytes for the next picture.
void inflight_use_one_heap(void);

/// Mounts, network, interprocess communication and the host's name of its own, in a user namespace without any user.
/// Call it before there is a second thread. Not every system permits it to every process.
int inflight_leave_namespaces(void);

/// Replaces the root folder of all threads by an empty one that cannot be written, so that no path names a file. Needs
/// the namespaces, and everything that will be read to be open.
int inflight_enter_empty_root(void);

/// No right to any file that is not open already, by Landlock: from kernel 5.13 on.
int inflight_give_up_files(void);

/// No capability, no new privileges, no traces and no core files.
int inflight_give_up_privileges(void);

/// At most `memory` bytes of address space beyond what is mapped now and the stack of one more thread; files and shared
/// memory of at most `file` bytes; `descriptors` descriptors; `seconds` of CPU time.
int inflight_limit_resources(size_t memory, size_t file, unsigned descriptors, unsigned long seconds);

/// From now on no thread of this process can call the system for more than memory, threads, time, and what is open: a
/// program, a process, a socket ends it; anything else fails with `EPERM`.
int inflight_filter_system_calls(void);
