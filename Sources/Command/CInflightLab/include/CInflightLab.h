#pragma once

/// The kernel's number of the calling thread; where it gives none, one that no other living thread has.
long lab_thread_number(void);

/// Lets this process run on one processor alone. Gives 0, or -1 where the system cannot do that.
int lab_use_one_processor(void);

/// For a process that may crash and must not stay: no core file, and the system ends it with the thread of `parent`
/// that started it. Gives 0, or -1 where the parent is gone already.
int lab_prepare_child(int parent);
