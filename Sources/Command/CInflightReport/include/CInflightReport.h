#pragma once

// The HTML page of `inflight get --report`. Its parts are files in `Page`, which tools can check, and are embedded in
// the executable, which needs no resource files at run time.

#include <stddef.h>

/// Returns the page's body as UTF-8, not zero-terminated, valid until the program ends. `*count` is its length in
/// bytes.
const char *_Nonnull inflight_report_body(size_t *_Nonnull count);
const char *_Nonnull inflight_report_style(size_t *_Nonnull count);
/// Returns all parts of the script, concatenated in one scope.
const char *_Nonnull inflight_report_script(size_t *_Nonnull count);
