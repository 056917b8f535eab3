#!/bin/bash
# Builds inflight-gallery and installs it with its icon, menu entry, metadata and man page.
#
#     Scripts/install-gallery.sh PREFIX FLAGS-OF-SWIFT-BUILD…
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$1

build=("${SWIFT:-swift}" build --package-path GTK "${@:2}" --product inflight-gallery)
# SwiftPM looks for new files of the package beside it only if a manifest is newer than its build plan.
touch Package.swift GTK/Package.swift
"${build[@]}"
gallery=$("${build[@]}" --show-bin-path)/inflight-gallery
if libraries=$(ldd "$gallery") && grep -q libswift <<<"$libraries"; then
    echo "install-gallery: inflight-gallery links Swift's shared libraries; build it with --static-swift-stdlib" >&2
    exit 1
fi
install_file() {
    install -D -m "$1" "$2" "$prefix/$3"
    echo "installed $prefix/$3"
}
name=org.inflight.Gallery
install_file 755 "$gallery" bin/inflight-gallery
install_file 644 "GTK/Data/$name.desktop" "share/applications/$name.desktop"
install_file 644 "GTK/Data/$name.svg" "share/icons/hicolor/scalable/apps/$name.svg"
install_file 644 "GTK/Data/$name.metainfo.xml" "share/metainfo/$name.metainfo.xml"
install_file 644 GTK/Data/inflight-gallery.1 share/man/man1/inflight-gallery.1
