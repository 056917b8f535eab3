#pragma once

// The page of `inflight get --report` as it stands in `Page`: real files for whoever reads and checks them, bytes of
// the program for whoever runs it, which needs no file beside itself.

#include <stddef.h>

/// What stands in the page's body; valid for as long as the program runs. `*count` says how many bytes of UTF-8.
const char *_Nonnull inflight_report_body(size_t *_Nonnull count);
const char *_Nonnull inflight_report_style(size_t *_Nonnull count);
/// All parts of the script, one behind the other: they share one scope.
const char *_Nonnull inflight_report_script(size_t *_Nonnull count);
