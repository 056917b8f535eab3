#!/bin/bash
# Builds the examples, runs those that say at their end what they print, and checks that the one that uses only the core
# links no library but the language's and the system's own: Scripts/check-examples.sh FLAGS-OF-SWIFT-BUILD…
set -euo pipefail
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
flags=(--package-path Examples "$@")

# The package manager goes by the last plan of a folder, whichever package that was for, until a manifest is newer.
touch Package.swift Examples/Package.swift GTK/Package.swift
"$swift" build "${flags[@]}"
bin=$("$swift" build "${flags[@]}" --show-bin-path)
program=$bin/core-only
"$program"

failed=0
for source in $(grep -rl --include=main.swift '^// Prints:$' Examples/Patterns Examples/Sources); do
    name=$(basename "$(dirname "$source")")
    expected=$(sed '1,/^\/\/ Prints:$/d; s,^// \{0\,1\},,' "$source")
    status=0
    printed=$(timeout 60 "$bin/$name") || status=$?
    if [ "$status" != 0 ] || [ "$printed" != "$expected" ]; then
        printf 'example %s ended with status %s and printed:\n%s\ninstead of:\n%s\n' \
            "$name" "$status" "$printed" "$expected" >&2
        failed=1
    fi
done
[ "$failed" = 0 ] || exit 1

ours='^(linux-vdso|ld-linux.*|libc|libm|libgcc_s|libstdc\+\+|libpthread|libdl|librt|libutil)\.so'
swifts='^(libswift.*|libdispatch|libBlocksRuntime|libFoundationEssentials|lib_FoundationCShims|lib_FoundationCollections)\.so'
foreign=$(ldd "$program" | awk '{ n = split($1, path, "/"); print path[n] }' | grep -vE "$ours|$swifts" || true)
if [ -n "$foreign" ]; then
    printf 'core-only links what it must not:\n%s\n' "$foreign" >&2
    exit 1
fi
