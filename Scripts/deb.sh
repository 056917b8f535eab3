#!/bin/bash
# Builds the Debian packages from the release build of this folder, and checks them with lintian.
#
#     Scripts/deb.sh OUTPUT-FOLDER [VERSION]        VERSION: default: the newest of CHANGELOG.md
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 version=${2:-$(Scripts/release.sh --version)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH INFLIGHT_TREE=$PWD

mkdir -p "$out"
rm -f "$out"/inflight*.deb
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source=$folder/inflight-$version
mkdir "$source"
cp -R Packaging/debian "$source"
Scripts/release.sh --news >"$source/NEWS.md"
cat >"$source/debian/changelog" <<CHANGELOG
inflight ($version) unstable; urgency=medium

  * Release $version: /usr/share/doc/inflight/NEWS.md.gz lists the changes.

 -- $(sed -n 's/^Maintainer: //p' Packaging/debian/control)  $(date -Ru -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
(cd "$source" && dpkg-buildpackage --build=binary --no-sign) >"$out/build.log" 2>&1 || {
    cat "$out/build.log" >&2
    exit 1
}
# A tag of any severity fails, unless an override explains it. Packages of another VERSION need no second check.
[ $# -gt 1 ] || lintian --allow-root --display-info --pedantic --fail-on error,warning,info,pedantic "$folder"/*.changes
mv "$folder"/*.deb "$out"
ls -l "$out"/*.deb
