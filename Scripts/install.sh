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

# The command writes its man pages and completions itself; the first page refers to those of the commands.
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
put bash-completion/completions/inflight completions bash
put zsh/site-functions/_inflight completions zsh
put fish/vendor_completions.d/inflight.fish completions fish
