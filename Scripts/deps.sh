#!/bin/bash
# Installs the system packages that are missing, and no others.
#
#     Scripts/deps.sh GROUP…        GROUP: build, vips, test, report, nightly, spark, stores, gtk, screenshots, deb,
#                                   packages, bench
#
# The table is the only list of them. Columns: group; Debian package; probe for systems without dpkg (a C header, a
# command, a file or a Python module); name on other systems; purpose.
set -euo pipefail

table() {
    cat <<'TABLE'
build|libcurl4-openssl-dev|curl/curl.h|libcurl 7.84 or later|HTTP transfers
build|libc-ares-dev|ares.h|c-ares|name resolution without a thread per lookup
build|libidn2-dev|idn2.h|libidn2|internationalised host names
build|libjpeg-dev|jpeglib.h|libjpeg-turbo|JPEG
build|libpng-dev|png.h|libpng 1.6|PNG
build|zlib1g-dev|zlib.h|zlib|PNG; bodies in gzip and deflate
build|libdeflate-dev|libdeflate.h|libdeflate|PNG
build|libbrotli-dev|brotli/decode.h|Brotli|bodies in Brotli
build|libzstd-dev|zstd.h|Zstandard|bodies in Zstandard
build|libwebp-dev|webp/decode.h|libwebp|WebP
build|libsqlite3-dev|sqlite3.h|SQLite 3.35 or later|index of the disk cache
build|liblcms2-dev|lcms2.h|Little CMS 2|colour profiles
build|libseccomp-dev|seccomp.h|libseccomp 2.5 or later|system call filter of decoder processes
build|libssl-dev|openssl/ssl.h|OpenSSL 3|digests of bulk downloads, TLS of the test kit's server
vips|libvips-dev|vips/version.h|libvips 8.14 or later|AVIF, HEIC, TIFF and SVG, in the decoder process
vips|libtiff-dev|tiffio.h|libtiff 4|TIFF that libvips refuses, in the decoder process
vips|libjxl-dev|jxl/decode.h|libjxl 0.7 or later|JPEG XL, in the decoder process
test|nginx-light|nginx|nginx|tests over HTTP/2 against a real server
test|openssl|openssl|the openssl command|certificate of that server
test|tmux|tmux|tmux 3.1 or later|tests of inflight show in a real terminal
test|strace|strace|strace 5 or later|tests of kills of inflight get
test|mandoc|mandoc|mandoc|tests of the man pages
test|zsh|zsh|zsh|tests of its completions
test|fish|fish|fish 3.4 or later|tests of its completions
gtk|pkg-config|pkg-config|pkg-config|finds the headers of GTK
gtk|libgtk-4-dev|gtk-4.0/gdk/gdkkeysyms.h|GTK 4.8 or later|the views and inflight-gallery
gtk|adwaita-icon-theme|/usr/share/icons/Adwaita/index.theme|Adwaita's icons|symbols in the views
gtk|fonts-dejavu-core|/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf|the DejaVu font|text in the views
gtk|xvfb|Xvfb|Xvfb|virtual display for tests of the views
gtk|xauth|xauth|xauth|access to that display
gtk|libxtst-dev|X11/extensions/XTest.h|libXtst|keyboard, wheel and pointer in tests of the gallery
report|chromium|chromium|Chromium|tests of the page of --report in a browser
report|nodejs|node|Node.js|runs the validator of archives of --har
report|node-har-validator|/usr/share/nodejs/har-validator/package.json|har-validator in /usr/share/nodejs|tests of these archives
nightly|python3-venv|ensurepip|Python's venv with pip|packages for tests in temporary folders
spark|openjdk-17-jre-headless|java|a Java 17 runtime|Spark
stores|radosgw|radosgw|Ceph's radosgw|an S3 store with real races
stores|ceph-mon|ceph-mon|Ceph's monitor|radosgw
stores|ceph-osd|ceph-osd|Ceph's OSD|radosgw
screenshots|xdotool|xdotool|xdotool|keyboard input for screenshots
screenshots|xterm|xterm|xterm|terminal window for screenshots
deb|dpkg-dev|dpkg-buildpackage|dpkg-dev|Debian packages
deb|debhelper|dh|debhelper|Debian packages
deb|lintian|lintian|lintian|checks of the Debian packages
deb|appstream|appstreamcli|AppStream|checks of the gallery's metadata
packages|mmdebstrap|mmdebstrap|mmdebstrap|a minimal system to install the packages in
packages|bubblewrap|bwrap|bubblewrap|entering that system
packages|xvfb|Xvfb|Xvfb|display of the installed gallery
packages|xdotool|xdotool|xdotool|keyboard input for the gallery
bench|nginx-light|nginx|nginx|server for benchmarks
bench|pkg-config|pkg-config|pkg-config|builds the libvips peers
bench|openssl|openssl|the openssl command|certificate of that server
bench|curl|curl|curl|a peer: many files to disk, and startup
bench|valgrind|valgrind|valgrind|instructions of a load
bench|libvips-dev|vips/version.h|libvips 8.14 or later|a peer: resizing
bench|libvips-tools|vipsthumbnail|libvips's commands|a peer: from URLs to thumbnails, after curl; AVIF inputs
bench|python3-pil|pil|Pillow|a peer: thumbnails
bench|python3-aiohttp|aiohttp|aiohttp|a peer: from URLs to thumbnails, with Pillow
bench|python3-venv|ensurepip|Python's venv with pip|the newest Pillow and img2dataset, in a folder of their own
TABLE
}

say() { printf 'deps: %s\n' "$*"; }

# Succeeds if a probe finds its header, command, file or Python module; for systems without dpkg.
is_found() {
    case $1 in
        *.h) "$compiler" -fsyntax-only -x c - 2>/dev/null <<<"#include <stddef.h>
#include <stdio.h>
#include <$1>" ;;
        /*) [ -e "$1" ] ;;
        pil) python3 -c 'import PIL' 2>/dev/null ;;
        aiohttp | ensurepip) python3 -c "import $1" 2>/dev/null ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

[ $# -gt 0 ] || { say "no group given. Groups: build, vips, test, report, nightly, spark, stores, gtk, screenshots, deb, packages, bench" >&2; exit 64; }
wanted=" $* "
rows=()
while IFS= read -r row; do
    case $wanted in *" ${row%%|*} "*) rows+=("$row") ;; esac
done < <(table)

missing=()
if command -v dpkg-query >/dev/null; then
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
    for row in "${rows[@]}"; do
        IFS='|' read -r _ package _ <<<"$row"
        grep -qxF "$package" <<<"$installed" || missing+=("$row")
    done
else
    # Swift includes clang, but PATH may not have it under that name.
    compiler=$(command -v clang || command -v cc || true)
    [ -n "$compiler" ] || { say "no C compiler: install clang, which Swift needs too" >&2; exit 1; }
    for row in "${rows[@]}"; do
        IFS='|' read -r _ _ probe _ <<<"$row"
        is_found "$probe" || missing+=("$row")
    done
fi

if [ ${#missing[@]} -eq 0 ]; then
    say "nothing to install ($*)"
    exit 0
fi

packages=()
for row in "${missing[@]}"; do
    IFS='|' read -r _ package _ name purpose <<<"$row"
    if command -v apt-get >/dev/null; then
        say "$package is missing: $purpose"
    else
        say "missing: $name, with its headers if it is a library ($purpose)"
    fi
    packages+=("$package")
done

if ! command -v apt-get >/dev/null; then
    say "this system has no apt-get: install these with its package manager, then try again" >&2
    exit 1
fi

as_root=(env)
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        say "installing needs root, and sudo is not available; run as root: apt-get install ${packages[*]}" >&2
        exit 1
    }
    as_root=(sudo env)
fi
as_root+=(DEBIAN_FRONTEND=noninteractive)

# A fresh container has no package lists, and stale lists name versions that the mirror lacks.
can_install() { apt-get install --simulate --no-install-recommends "${packages[@]}" >/dev/null 2>&1; }
update() {
    say "updating the package lists"
    "${as_root[@]}" apt-get update -qq
}
install() {
    say "installing ${packages[*]}"
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

fail() {
    say "apt-get failed: see above" >&2
    exit 1
}

# Keeps packages from starting their services: only the programs are needed.
policy=/usr/sbin/policy-rc.d
if [[ " ${packages[*]} " == *" nginx-light "* && ! -e $policy ]]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi

if can_install; then
    install || { update && install; } || fail
else
    { update && install; } || fail
fi
say "installed"
