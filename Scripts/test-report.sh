#!/bin/bash
# Tests the page of `inflight get --report` in headless Chromium: Scripts/test-report.sh FLAGS-OF-SWIFT-BUILD…
#
# Swift's tests write pages of made-up runs and what those have to say; the tests in Tests/Report open them, and pages
# that the command makes of real ones. `REPORT_TESTS` names some of them: REPORT_TESTS=test_page.Zooming
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

"$swift" build --build-tests "$@"
INFLIGHT_REPORT_PAGES=$pages "$swift" test --skip-build --disable-xctest --enable-swift-testing "$@" --filter RunReportPageTests
for page in ordinary many hostile empty long; do
    [ -s "$pages/$page.html" ] || { echo "test-report: the tests wrote no page $page" >&2; exit 1; }
done

export INFLIGHT_REPORT_PAGES=$pages PYTHONDONTWRITEBYTECODE=1
INFLIGHT=$("$swift" build --show-bin-path "$@")/inflight
export INFLIGHT
cd Tests/Report
if [ -n "${REPORT_TESTS:-}" ]; then
    # Several names stand between blanks.
    # shellcheck disable=SC2086
    python3 -m unittest -v $REPORT_TESTS
else
    python3 -m unittest discover -q
fi
