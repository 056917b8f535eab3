#!/bin/bash
# Installs the Python package, its extras and other packages into a virtual environment below the build folder, where
# they stay between runs.
#
#     [SCRATCH=.build] [VENV=venv] Scripts/python-env.sh EXTRA[,EXTRA…] [PACKAGE…]
#
# EXTRA is one of parquet, tfrecord, spark, ray, s3fs, gcsfs and adlfs. Tests use the other packages.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${SCRATCH:-.build}/${VENV:-venv}
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"

# A build writes into the folder of the sources.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r Python/inflight Python/pyproject.toml Python/README.md "$copy"
pip uninstall --yes inflight-images
pip install "$copy[$1]" "${@:2}"
