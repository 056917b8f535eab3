#!/bin/bash
# Builds inflight-gallery and starts it with the arguments, or with the demo's images from a server on loopback.
#
#     Scripts/gallery.sh [URL | FILE.txt | IMAGE | FOLDER…]
#
# Requires the release build (`make build`) for the demo's server.
set -euo pipefail
swift=${SWIFT:-swift}
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=${SCRATCH:-.build}
[[ $scratch == /* ]] || scratch=$root/$scratch
flags=(--package-path "$root/GTK" --scratch-path "$scratch/gtk" -c release --product inflight-gallery)
# SwiftPM looks for new files of the package beside it only if a manifest is newer than its build plan.
touch "$root/Package.swift" "$root/GTK/Package.swift"
"$swift" build "${flags[@]}"
gallery=$("$swift" build "${flags[@]}" --show-bin-path)/inflight-gallery

# The desktop finds the program's icon on this path.
export XDG_DATA_DIRS="$root/GTK/Data${XDG_DATA_DIRS:+:$XDG_DATA_DIRS}:/usr/local/share:/usr/share"

[ $# -eq 0 ] || exec "$gallery" "$@"

folder=$(mktemp -d)
server=
clean_up() {
    # The server ends with its standard input, but only after it has generated its images.
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Generating images and serving them on loopback …"
mkfifo "$folder/ready" "$folder/hold"
"$scratch/release/inflight-demo" serve --list "$folder/list.txt" <"$folder/hold" >"$folder/ready" &
server=$!
exec 8>"$folder/hold"
read -r _ <"$folder/ready" || { echo "gallery: the server did not start." >&2; exit 1; }
# Ten thousand rows of sixty images: the list, repeated with distinct queries, which the server ignores.
for round in $(seq 100); do sed -n "s/^http.*/&?$round/p" "$folder/list.txt"; done >"$folder/rows.txt"
"$gallery" "$folder/rows.txt"
