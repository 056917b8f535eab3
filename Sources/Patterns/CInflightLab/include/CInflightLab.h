#pragma once

/// Returns the kernel's ID of the calling thread.
long lab_thread_number(void);

/// Restricts the calling thread, and the threads that it starts later, to one processor. Returns 0, or -1 if the system
/// refuses that.
int lab_use_one_processor(void);

/// Prepares a child process that may crash and must not outlive its parent: disables core files, and has the kernel
/// kill the process when the thread of `parent` that started it exits. Returns 0, or -1 if the parent has already
/// exited.
int lab_prepare_child(int parent);
