#!/bin/bash
# The demo: serves generated images on loopback, downloads them with `inflight get`, and makes a contact sheet. Writes
# only to demo-out/. Ctrl-C stops the server too.
#
#     Scripts/demo.sh FOLDER-OF-PROGRAMS
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$1
out=demo-out
scratch=$(mktemp -d)
server=

clean_up() {
    # The server ends with its standard input, but only after it has generated its images.
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Generating images and serving them on loopback …"
mkfifo "$scratch/ready" "$scratch/hold"
"$bin/inflight-demo" serve --list "$scratch/list.txt" <"$scratch/hold" >"$scratch/ready" &
server=$!
exec 8>"$scratch/hold"
if ! read -r line <"$scratch/ready"; then
    echo "demo: the server did not start." >&2
    exit 1
fi
echo "${line%, *}, $(grep -c '^http' "$scratch/list.txt") URLs in the list: some repeated, a few slow, three damaged, missing or redirected."
echo

mkdir -p "$out"
echo "\$ inflight get -i list.txt -o $out --size 320x240 --fit cover --format jpeg --overwrite"
status=0
# The server's port differs in each run. So the user's own cache would fill with entries that are never requested again,
# and without --overwrite, the files of an earlier run would be kept as those of other URLs.
"$bin/inflight" get -i "$scratch/list.txt" -o "$out" --size 320x240 --fit cover --format jpeg --overwrite \
    --cache "$scratch/cache" || status=$?
case $status in
    0) ;;
    1) echo "(Exit status 1 because of failures: one image is missing and one is damaged, on purpose.)" ;;
    *) exit "$status" ;;
esac

echo
"$bin/inflight-demo" contact-sheet "$out" -o "$out/contact-sheet.png"

echo
echo "Open $out/contact-sheet.png, or try:"
printf '  %-45s # %s\n' \
    "$bin/inflight show $out/*.jpg" "shows the images in the terminal" \
    "$bin/inflight info $out/01-*.jpg" "format, size and metadata of an image" \
    "$bin/inflight lab" "experiments with queues, locks and cancellation"
