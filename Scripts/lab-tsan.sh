#!/bin/bash
# Checks that the thread sanitizer finds the race of `inflight lab`. Builds into SCRATCH/thread.
set -euo pipefail
cd "$(dirname "$0")/.."

build=("${SWIFT:-swift}" build --sanitize thread --product inflight-lab --scratch-path "${SCRATCH:-.build}/thread")
"${build[@]}"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
# Started as `inflight lab race` starts it. The sanitizer's default history per thread is too short for tight loops.
TSAN_OPTIONS="history_size=7 ${TSAN_OPTIONS:-}" \
    "$("${build[@]}" --show-bin-path)/inflight-lab" --for "$(Scripts/release.sh --version)" race | tee "$seen"
if ! grep -q "The thread sanitizer found it" "$seen"; then
    echo "lab-tsan: the thread sanitizer did not find the race." >&2
    exit 1
fi
