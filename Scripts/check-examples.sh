#!/bin/bash
# Builds and runs the examples, compares their output with the comment at the end of each, and checks that `core-only`
# links only Swift's and the system's own libraries, and `first-picture` of Foundation only FoundationEssentials.
# Decodes AVIF with a decoder that is built and installed as a program of one's own has it.
#
#     Scripts/check-examples.sh FLAGS-OF-SWIFT-BUILD…
set -euo pipefail
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
flags=(--package-path Examples "$@")

# SwiftPM reuses the last build plan of a folder, even another package's, until a manifest is newer.
touch Package.swift Examples/Package.swift GTK/Package.swift
"$swift" build "${flags[@]}"
bin=$("$swift" build "${flags[@]}" --show-bin-path)

failed=0
# NAME EXPECTED [ARGUMENT…]
check() {
    local name=$1 expected=$2 printed status=0
    printed=$(timeout 60 "$bin/$name" "${@:3}") || status=$?
    if [ "$status" != 0 ] || [ "$printed" != "$expected" ]; then
        printf 'example %s ended with status %s. Output:\n%s\nExpected:\n%s\n' \
            "$name" "$status" "$printed" "$expected" >&2
        failed=1
    fi
}

for source in Examples/{Sources,Patterns}/*/main.swift; do
    name=$(basename "$(dirname "$source")")
    if grep -q '^// Prints:$' "$source"; then
        check "$name" "$(sed '1,/^\/\/ Prints:$/d; s,^// \{0\,1\},,' "$source")"
    elif [ "$name" != first-picture ]; then
        printf 'example %s has no comment "// Prints:" with its output at its end\n' "$name" >&2
        failed=1
    fi
done
# The README shows this example. Its output contains its argument, a GIF of 2 × 2 pixels.
gif='data:image/gif;base64,R0lGODlhAgACAIAAAP8AAAAA/ywAAAAAAgACAAACAwQABQA7'
check first-picture "2 × 2 pixels from $gif" "$gif"

# AVIF in a package that depends on Inflight, as Documentation/Decoders.md describes: the decoder is a product of that
# package, too, and is found beside the program, or where an installation has it.
"$swift" build "${flags[@]}" --product inflight-decoder-vips
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
install -D "$bin/first-picture" "$installed/bin/first-picture"
install -D "$bin/inflight-decoder-vips" "$installed/libexec/inflight/inflight-decoder-vips"
avif="data:image/avif;base64,$(awk '/"""\)/ { exit } found { printf "%s", $1 } /"""/ { found = 1 }' \
    Tests/InflightPictures/AVIFFixtures.swift)"
check first-picture "16 × 12 pixels from $avif" "$avif"
bin=$installed/bin check first-picture "16 × 12 pixels from $avif" "$avif"
[ "$failed" = 0 ] || exit 1

ours='^(linux-vdso|ld-linux.*|libc|libm|libgcc_s|libstdc\+\+|libpthread|libdl|librt|libutil)\.so'
swifts='^(libswift.*|libdispatch|libBlocksRuntime|libFoundationEssentials|lib_FoundationCShims|lib_FoundationCollections)\.so'
foreign=$(ldd "$bin/core-only" | awk '{ n = split($1, path, "/"); print path[n] }' | grep -vE "$ours|$swifts" || true)
if [ -n "$foreign" ]; then
    printf 'core-only links unexpected libraries:\n%s\n' "$foreign" >&2
    exit 1
fi
# `import Inflight` needs no more of Foundation than FoundationEssentials. The rest, with ICU, is larger than all else.
if ldd "$bin/first-picture" | grep -E 'libFoundation(Internationalization|Networking)?\.so|lib_FoundationICU'; then
    printf 'first-picture links all of Foundation, although it imports Inflight alone\n' >&2
    exit 1
fi
