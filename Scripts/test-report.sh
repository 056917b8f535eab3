#!/bin/bash
# Tests the page of `inflight get --report` in headless Chromium, and archives of `--har` with `node-har-validator`.
#
#     Scripts/test-report.sh FLAGS-OF-SWIFT-BUILD…
#
# A Swift test writes pages of synthetic runs and their expected content. The tests in Tests/Report open these pages and
# those of real runs. `REPORT_TESTS` selects tests, as in REPORT_TESTS=test_page.Zooming.
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

"$swift" build --build-tests "$@"
INFLIGHT_REPORT_PAGES=$pages "$swift" test --skip-build --disable-xctest --enable-swift-testing "$@" --filter RunReportPageTests
for page in ordinary many hostile empty long; do
    [ -s "$pages/$page.html" ] || { echo "test-report: the Swift tests did not write the page $page" >&2; exit 1; }
done

export INFLIGHT_REPORT_PAGES=$pages PYTHONDONTWRITEBYTECODE=1
INFLIGHT=$("$swift" build --show-bin-path "$@")/inflight
export INFLIGHT
cd Tests/Report
if [ -n "${REPORT_TESTS:-}" ]; then
    # The names are separated by spaces.
    # shellcheck disable=SC2086
    python3 -m unittest -v $REPORT_TESTS
else
    python3 -m unittest discover -q
fi
