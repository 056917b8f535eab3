#!/bin/bash
# Builds the benchmarks and runs them one after the other: Scripts/bench.sh [NAME…]
set -euo pipefail
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
flags=(--package-path Benchmarks -c release)
all=(EvictionTraces EngineSpeed)

"$swift" build "${flags[@]}"
binaries=$("$swift" build "${flags[@]}" --show-bin-path)
[ $# -gt 0 ] || set -- "${all[@]}"
for name in "$@"; do
    printf '\n== %s\n' "$name"
    "$binaries/$name"
done
