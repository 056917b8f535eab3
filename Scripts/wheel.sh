#!/bin/bash
# Builds the Python package as a wheel. Its bytes depend on the commit only, and on the version of setuptools.
#
#     Scripts/wheel.sh OUTPUT-FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

# A build writes into the folder of the sources.
umask 022
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git archive HEAD Python | tar x -C "$copy"
python3 -m venv "$copy/venv"
"$copy/venv/bin/python" -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir "$out" "$copy/Python"
