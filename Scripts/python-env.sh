#!/bin/bash
# Installs the Python package and the engines of its extras into a virtual environment below the build folder, where
# they stay between runs.
#
#     [SCRATCH=.build] Scripts/python-env.sh EXTRA[,EXTRA…] [PACKAGE…]        EXTRA: parquet, tfrecord, spark, ray
#
# Tests use the other packages.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${SCRATCH:-.build}/venv
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"

# A build writes into the folder of the sources.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r Python/inflight Python/pyproject.toml Python/README.md "$copy"
pip uninstall --yes inflight-images
pip install "$copy[$1]" "${@:2}"
