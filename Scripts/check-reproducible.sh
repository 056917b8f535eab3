#!/bin/bash
# Builds the files of a release from two clones of the current commit, in folders of different depth and name, and
# compares them.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mkdir -p "${SCRATCH:-.build}" && cd "${SCRATCH:-.build}" && pwd)/twice
rm -rf "$scratch"
commit=$(git rev-parse HEAD)
trap 'rm -rf "$scratch"' EXIT
for clone in "$scratch/first" "$scratch/in/a/deeper/second"; do
    git clone -q . "$clone"
    git -C "$clone" checkout -q "$commit"
    # Neither the time zone, the language nor the mask of new files may matter.
    (cd "$clone" && umask 077 && TZ=Pacific/Chatham LC_ALL=C.UTF-8 make release-files SCRATCH=.build)
    (cd "$clone/.build/release-files" && sha256sum -- *) >>"$scratch/sums"
done
if [ -n "$(sort "$scratch/sums" | uniq -u)" ]; then
    echo "check-reproducible: these files differ:" >&2
    sort "$scratch/sums" | uniq -u >&2
    exit 1
fi
echo "Equal from both folders:"
sort -u "$scratch/sums"
