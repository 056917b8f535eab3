#!/bin/bash
# The race of `inflight lab` under the thread sanitizer, which has to find it. Builds into SCRATCH/thread.
set -euo pipefail
cd "$(dirname "$0")/.."

build=("${SWIFT:-swift}" build --sanitize thread --product inflight --scratch-path "${SCRATCH:-.build}/thread")
"${build[@]}"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
# What the sanitizer remembers of a thread by itself is too little for loops that do nothing else.
TSAN_OPTIONS="history_size=7 ${TSAN_OPTIONS:-}" "$("${build[@]}" --show-bin-path)/inflight" lab race | tee "$seen"
if ! grep -q "The thread sanitizer found it" "$seen"; then
    echo "lab-tsan: the thread sanitizer did not find the race." >&2
    exit 1
fi
