#!/bin/bash
# Runs all tests, and repeats at the end what failed, which is hard to find in so long a log:
# Scripts/run-tests.sh FLAGS-OF-SWIFT-TEST…
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A crash under a sanitizer is reported by the sanitizer; Swift's backtracer would wait for its threads for ever.
case " $* " in *" --sanitize "*) export SWIFT_BACKTRACE=enable=no ;; esac

# All tests are Swift Testing's; XCTest's empty run would only add its own leaks to the address sanitizer's list.
"${SWIFT:-swift}" test --disable-xctest --enable-swift-testing "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
    printf '==> what failed (status %s)\n' "$status"
    grep -aE '✘|↳|error: |Fatal error|^SUMMARY: |ERROR: |WARNING: Thread' "$log" | head -n 60
fi
exit "$status"
