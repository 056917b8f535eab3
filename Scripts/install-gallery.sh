#!/bin/bash
# Builds inflight-gallery so that it runs without a Swift toolchain, and installs it with its icon and menu entry.
#
#     Scripts/install-gallery.sh SCRATCH PREFIX
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$1 prefix=$2

build=("${SWIFT:-swift}" build -c release --static-swift-stdlib --package-path GTK --scratch-path "$scratch"
    --product inflight-gallery)
# SwiftPM looks for new files of the package beside it only if a manifest is newer than its build plan.
touch Package.swift GTK/Package.swift
"${build[@]}"
gallery=$("${build[@]}" --show-bin-path)/inflight-gallery
if libraries=$(ldd "$gallery") && grep -q libswift <<<"$libraries"; then
    echo "install-gallery: inflight-gallery links Swift's shared libraries" >&2
    exit 1
fi
install_file() {
    install -D -m "$1" "$2" "$3"
    echo "installed $3"
}
name=org.inflight.Gallery
install_file 755 "$gallery" "$prefix/bin/inflight-gallery"
install_file 644 "GTK/Data/$name.desktop" "$prefix/share/applications/$name.desktop"
install_file 644 "GTK/Data/$name.svg" "$prefix/share/icons/hicolor/scalable/apps/$name.svg"
