#!/bin/bash
# Installs the built programs, man pages and completions.
#
#     Scripts/install.sh DIRECTORY-OF-BINARIES PREFIX
set -euo pipefail
binaries=$1 prefix=$2

for name in inflight inflight-decoder inflight-decoder-vips inflight-lab; do
    # A binary that links Swift's shared libraries would fail on a machine without them.
    if libraries=$(ldd "$binaries/$name") && grep -q libswift <<<"$libraries"; then
        echo "install: $name links Swift's shared libraries; build it with --static-swift-stdlib" >&2
        exit 1
    fi
    # Only `inflight` runs the decoders and the lab.
    directory=$prefix/bin
    [[ $name == inflight ]] || directory=$prefix/libexec/inflight
    install -D -m 755 "$binaries/$name" "$directory/$name"
    echo "installed $directory/$name"
done

# The command prints its man pages and completions. The main page refers to the pages of the subcommands.
inflight=$prefix/bin/inflight share=$prefix/share
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
put() {
    "$inflight" "${@:2}" >"$scratch"
    install -D -m 644 "$scratch" "$share/$1"
    echo "installed $share/$1"
}
put man/man1/inflight.1 man
sed -n 's/^\.It Xr inflight-\(.*\) 1$/\1/p' "$share/man/man1/inflight.1" | while read -r command; do
    put "man/man1/inflight-$command.1" man "$command"
done
put man/man5/inflight-batch.5 man batch.5
put bash-completion/completions/inflight completions bash
put zsh/site-functions/_inflight completions zsh
put fish/vendor_completions.d/inflight.fish completions fish
