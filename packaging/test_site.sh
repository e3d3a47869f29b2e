#!/usr/bin/env bash
# Tests what packaging/site.sh makes, in folders that are thrown away: the HTML is valid, each link
# leads to a page and an anchor that are there, each page links all others, nothing is loaded from
# elsewhere, and a second run elsewhere gives the same bytes. It takes seconds:
#   packaging/test_site.sh
set -euo pipefail
cd "$(dirname "$0")/.."

need() {
    command -v "$1" >/dev/null || { echo "test_site.sh: $1 not found; install $2" >&2; exit 1; }
}
need python3 python3
need tidy tidy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if "$@"; then
        echo "passed: $name"
    else
        echo "FAILED: $name"
        failed=1
    fi
}

# Another zone, locale and umask, and a folder of another name.
make_otherwise() {
    (umask 077 && TZ=Pacific/Kiritimati LC_ALL=C packaging/site.sh "$work/other place")
}
refuses_full_folder() { ! packaging/site.sh "$work/site" 2>/dev/null; }

packaging/site.sh "$work/site"
check "the HTML is valid" tidy -quiet -errors --gnu-emacs yes "$work"/site/*.html
check "all links and pages are there" python3 packaging/site_links.py "$work/site" .
check "a second run can be made elsewhere" make_otherwise
check "it gives the same bytes" diff -r "$work/site" "$work/other place"
check "a folder that is not empty is refused" refuses_full_folder
[[ $failed -eq 0 ]]
