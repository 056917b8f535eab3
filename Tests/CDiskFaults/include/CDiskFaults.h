#pragma once

#include <stdbool.h>
#include <stdint.h>

// A VFS for SQLite that injects faults into its operations.

enum disk_fault {
    DISK_FAULT_NONE,
    /// The operation does nothing and fails.
    DISK_FAULT_INPUT_OUTPUT,
    /// A read or write does half of its bytes, then fails.
    DISK_FAULT_SHORT,
    /// An operation that changes files fails for lack of space. A write does half of its bytes first.
    DISK_FAULT_NO_SPACE,
    /// The operation does nothing and reports success.
    DISK_FAULT_LOST,
};

typedef struct disk_faults disk_faults;

/// Creates a VFS and registers it with SQLite. It works like the default VFS until `disk_faults_plan` is called.
disk_faults *_Nullable disk_faults_make(void);

/// Unregisters and frees the VFS. All of its files must be closed.
void disk_faults_free(disk_faults *_Nonnull faults);

/// The name of the VFS.
const char *_Nonnull disk_faults_name(const disk_faults *_Nonnull faults);

/// Makes operation number `first` fail, counted from 1 at this call. If `stays`, all later operations fail, too.
///
/// Only operations to which the fault applies count. `DISK_FAULT_NO_SPACE` and `DISK_FAULT_LOST` do not apply to reads
/// and locks. `DISK_FAULT_SHORT` applies only to reads and writes.
void disk_faults_plan(disk_faults *_Nonnull faults, enum disk_fault fault, int64_t first, bool stays);

/// Returns whether an operation has failed since the last plan.
bool disk_faults_has_struck(disk_faults *_Nonnull faults);

/// Returns the name of the operation that failed first, or "nothing", for messages.
const char *_Nonnull disk_faults_struck(disk_faults *_Nonnull faults);

/// Returns the number of operations so far, on all threads, whether a fault applies to them or not.
int64_t disk_faults_calls(disk_faults *_Nonnull faults);

/// Permanently sets the user whose rights the calling thread has on files (`setfsuid`). Root's capabilities over other
/// users' files are lost, too.
void disk_faults_become(uint32_t user);
