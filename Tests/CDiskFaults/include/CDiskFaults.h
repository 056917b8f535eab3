#pragma once

#include <stdbool.h>
#include <stdint.h>

// A way to files for SQLite (a "VFS") of which one operation fails, or many.

enum disk_fault {
    DISK_FAULT_NONE,
    /// The operation does nothing and says that it failed.
    DISK_FAULT_INPUT_OUTPUT,
    /// Half of it is read or written, then it fails.
    DISK_FAULT_SHORT,
    /// What needs room fails for want of it; half of a write is done.
    DISK_FAULT_NO_SPACE,
    /// It says that it was done, and was not.
    DISK_FAULT_LOST,
};

typedef struct disk_faults disk_faults;

/// Registers a VFS of its own with SQLite, through which everything goes as usual until it is told otherwise.
disk_faults *_Nullable disk_faults_make(void);

/// To be called when nothing is open any more.
void disk_faults_free(disk_faults *_Nonnull faults);

/// What SQLite calls it.
const char *_Nonnull disk_faults_name(const disk_faults *_Nonnull faults);

/// Lets operation number `first` (from 1, counted from now) fail, and where `stays`, all that follow.
///
/// Operations are those that the fault can befall: reads and locks are none for `DISK_FAULT_NO_SPACE`, and only reads
/// and writes are for `DISK_FAULT_SHORT`.
void disk_faults_plan(disk_faults *_Nonnull faults, enum disk_fault fault, int64_t first, bool stays);

/// Whether an operation has failed since the plan was made.
bool disk_faults_has_struck(disk_faults *_Nonnull faults);

/// The operation that has failed first, for messages.
const char *_Nonnull disk_faults_struck(disk_faults *_Nonnull faults);

/// How many calls there were, on whichever thread.
int64_t disk_faults_calls(disk_faults *_Nonnull faults);

/// Makes the calling thread another user's, as far as files are concerned (`setfsuid`): its capabilities over others'
/// files go too. It stays so.
void disk_faults_become(uint32_t user);
