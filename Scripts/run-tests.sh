#!/bin/bash
# Runs all tests, and repeats the failures at the end of the long log.
#
#     Scripts/run-tests.sh FLAGS-OF-SWIFT-TEST…
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Sanitizers report crashes themselves. Swift's backtracer would wait forever for a sanitizer's threads.
case " $* " in *" --sanitize "*) export SWIFT_BACKTRACE=enable=no ;; esac

# All tests use Swift Testing. An empty run of XCTest would add its own leaks to the address sanitizer's report.
"${SWIFT:-swift}" test --disable-xctest --enable-swift-testing "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
    printf '==> failures (status %s)\n' "$status"
    grep -aE '✘|↳|error: |Fatal error|^SUMMARY: |ERROR: |WARNING: Thread' "$log" | head -n 60
    # A report of leaks ends with the least of them. The first ones, and where they were allocated, say more.
    awk '/^Direct leak of/ { left = 3; print } left > 0 && /\/(Sources|Tests)\// { left--; print $4 }' "$log" \
        | head -n 20 | "${SWIFT:-swift}" demangle -compact | cut -c 1-200
fi
exit "$status"
