#!/bin/bash
# Installs what was built: Scripts/install.sh DIRECTORY-OF-BINARIES PREFIX
set -euo pipefail
binaries=$1 prefix=$2

for name in inflight inflight-decoder inflight-decoder-vips; do
    # A binary that needs Swift's libraries would fail on the machine that it is copied to.
    if libraries=$(ldd "$binaries/$name") && grep -q libswift <<<"$libraries"; then
        echo "install: $name needs Swift's shared libraries: build it with --static-swift-stdlib" >&2
        exit 1
    fi
    # Nobody runs decoders by hand.
    directory=$prefix/bin
    [[ $name == inflight ]] || directory=$prefix/libexec/inflight
    install -D -m 755 "$binaries/$name" "$directory/$name"
    echo "installed $directory/$name"
done
