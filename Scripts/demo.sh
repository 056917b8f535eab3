#!/bin/bash
# The demo: real pictures over real sockets. A server on loopback, the real command against it, a sheet of the results.
# Needs the release build (`make build`); writes to demo-out/ alone. Ctrl-C ends all of it.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${SCRATCH:-.build}/release
out=demo-out
scratch=$(mktemp -d)
server=

clean_up() {
    # The server ends when its standard input does; the kill is for one that still paints.
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Painting pictures, and serving them on loopback …"
mkfifo "$scratch/ready" "$scratch/hold"
"$bin/inflight-demo" serve --list "$scratch/list.txt" <"$scratch/hold" >"$scratch/ready" &
server=$!
exec 8>"$scratch/hold"
if ! read -r line <"$scratch/ready"; then
    echo "demo: the server did not start." >&2
    exit 1
fi
echo "${line%, *}, $(grep -c '^http' "$scratch/list.txt") lines in the list: some twice and more, a few slow, three bad or moved."
echo

mkdir -p "$out"
echo "\$ inflight get -i list.txt -o $out --size 320x240 --fit cover --format jpeg"
status=0
# The server's port is another one each time: a cache of the user's own would fill with what is never asked for again.
"$bin/inflight" get -i "$scratch/list.txt" -o "$out" --size 320x240 --fit cover --format jpeg \
    --cache "$scratch/cache" || status=$?
case $status in
    0) ;;
    1) echo "(exit status 1, because something failed: here one picture is missing and one is damaged, on purpose.)" ;;
    *) exit "$status" ;;
esac

echo
"$bin/inflight-demo" contact-sheet "$out" -o "$out/contact-sheet.png"
