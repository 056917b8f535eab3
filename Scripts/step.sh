#!/bin/bash
# Runs one step of a target, and prints its title and duration on one line. The output goes to a log, whose end is shown
# if the step fails. On a terminal, the latest line of the output is shown meanwhile.
#
#     [SUMMARY=PATTERN] [VERBOSE=1] Scripts/step.sh TITLE COMMAND [ARGUMENT…]
#
# SUMMARY selects a line of the output that is printed at the end. With VERBOSE=1, the output is not hidden, and the
# duration comes last.
set -uo pipefail
title=$1
shift
if [ -n "${VERBOSE:-}" ]; then
    echo "==> $title"
    started=$SECONDS
    "$@"
    status=$?
    echo "==> $title: $((SECONDS - started)) s"
    exit "$status"
fi

logs=${SCRATCH:-.build}/logs
mkdir -p "$logs"
log=$logs/$(tr -cs '[:alnum:]' '-' <<<"$title" | sed 's/^-*//; s/-*$//').log
clear='' columns=0
if [ -t 1 ]; then
    clear=$'\r\e[K'
    columns=$(tput cols 2>/dev/null || echo 80)
fi

printf '%s … ' "$title"
started=$SECONDS
"$@" 2>&1 </dev/null | while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line"
    [ -z "$clear" ] || printf '%s%.*s' "$clear" "$((columns - 1))" "$title … ${line//[[:cntrl:]]/ }" >&2
done >"$log"
status=${PIPESTATUS[0]}
if [ "$status" = 0 ]; then
    printf '%s%d s\n' "${clear:+$clear$title … }" "$((SECONDS - started))"
else
    printf '%sfailed after %d s with status %s. The end of %s:\n' \
        "${clear:+$clear$title … }" "$((SECONDS - started))" "$status" "$log"
    tail -n 70 "$log"
fi
[ -z "${SUMMARY:-}" ] || grep -aE "$SUMMARY" "$log" | tail -n 1
exit "$status"
