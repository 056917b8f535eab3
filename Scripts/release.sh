#!/bin/bash
# Builds the files of a release: the tarball, the Debian packages, the Python package, the source, and SHA256SUMS.
#
#     Scripts/release.sh OUTPUT-FOLDER DIRECTORY-OF-BINARIES
#     Scripts/release.sh --check       # fail unless this commit can be released
#     Scripts/release.sh --version     # print the version: the newest of CHANGELOG.md
#     Scripts/release.sh --news        # print CHANGELOG.md without links to files that packages do not have
set -euo pipefail
cd "$(dirname "$0")/.."

umask 022
version=$(sed -nE 's/^## ([0-9]+\.[0-9]+\.[0-9]+) \(.*/\1/p' CHANGELOG.md | head -1)
fail() {
    echo "release: $*" >&2
    exit 1
}
[ -n "$version" ] || fail "CHANGELOG.md has no section of a version, such as '## 1.2.3 (2030-12-31)'"
case $1 in
    --version)
        echo "$version"
        exit ;;
    --news)
        # A link and its address may be on two lines.
        sed -zE 's/\[([^][]*)\]\([^):]*\)/\1/g' CHANGELOG.md
        exit ;;
    --check)
        [ -z "$(git status --porcelain)" ] || fail "the working tree has changes; commit them first (git status)"
        ! grep -q '^## Unreleased' CHANGELOG.md || fail "CHANGELOG.md has unreleased changes; see Releasing.md"
        exec Scripts/check-files.py ;;
esac

out=$1 binaries=$2
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$out"
mkdir -p "$out"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

tree=inflight-$version-linux-$(uname -m)
Scripts/install.sh "$binaries" "$folder/$tree" >/dev/null
strip --remove-section=.comment "$folder/$tree"/bin/* "$folder/$tree"/libexec/inflight/*
install -D -m 644 -t "$folder/$tree/share/doc/inflight" README.md Packaging/debian/copyright
Scripts/release.sh --news >"$folder/$tree/share/doc/inflight/NEWS.md"
# Owners, modes, times and order do not depend on the machine.
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$SOURCE_DATE_EPOCH" \
    --format=gnu -c "$tree" | xz -6 -T1 >"$out/$tree.tar.xz"
git archive --format=tar --prefix="inflight-$version/" HEAD | xz -6 -T1 >"$out/inflight-$version.tar.xz"

Scripts/deb.sh "$folder/deb"
mv "$folder"/deb/*.deb "$out"
Scripts/wheel.sh "$out"
(cd "$out" && sha256sum -- *.tar.xz *.deb *.whl >SHA256SUMS)
ls -l "$out"
