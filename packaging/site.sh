#!/usr/bin/env bash
# Makes a static site of the manual and of the texts in Markdown: index.html, a page for each of
# them, and one stylesheet. It needs no server and no JavaScript, and loads nothing from elsewhere.
#   packaging/site.sh                     into build/dist/site
#   packaging/site.sh FOLDER              into FOLDER, which must be new or empty
# The same source gives the same bytes.
set -euo pipefail
[[ $# -le 1 && ${1:-} != -* ]] || { echo "usage: packaging/site.sh [FOLDER]" >&2; exit 2; }
given=${1:+$(realpath --canonicalize-missing "$1")}
cd "$(dirname "$0")/.."

# The texts beside the manual, with what the index says of them.
texts=(README CHANGELOG SECURITY CONTRIBUTING)
declare -A about=(
    [README]="installation, first jobs, C++ programs, exit statuses"
    [CHANGELOG]="what a user sees, newest first"
    [SECURITY]="who may connect where, and how to report a weakness"
    [CONTRIBUTING]="the source tree, its tests, and how to change it"
)
declare -A headings=([1]=Commands [5]="File formats" [7]=Topics)

need() {
    command -v "$1" >/dev/null || { echo "site.sh: $1 not found; install $2" >&2; exit 1; }
}

# pages SECTION: the files of the manual; a name comes before the longer ones that it begins.
pages() { printf '%s\n' man/*."$1" | sort -t . -k 1,1; }

# name_of PAGE: such as ddprun-job(5).
name_of() { basename "$1" | sed 's/\.\(.\)$/(\1)/'; }

# description_of PAGE: as HTML.
description_of() { sed -n 's/&/\&amp;/g; s/</\&lt;/g; s/^\.Nd //p' "$1"; }

# link FILE NAME
link() { echo "<a href=\"$1.html\">$2</a>"; }

# navigation: all pages in a few lines, for the end of each.
navigation() {
    local section page text
    echo '<nav aria-label="All pages">'
    for section in 1 5 7; do
        echo "<p>${headings[$section]}:"
        for page in $(pages "$section"); do link "${page#man/}" "$(name_of "$page")"; done
        echo '</p>'
    done
    echo '<p>Texts:'
    for text in "${texts[@]}"; do link "$text" "$text"; done
    echo '</p></nav>'
}

# put FILE TITLE: writes FILE.html, with the HTML of standard input in it.
put() {
    local start='<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="style.css">'
    {
        printf '%s\n<title>%s</title>\n</head>\n<body>\n' "$start" "$2"
        echo "<header>$(link index "ddprun $version") <span>$2</span></header>"
        printf '<main>\n%s\n</main>\n' "$(cat)"
        printf '<footer>\n%s\n</footer>\n</body>\n</html>\n' "$all_pages"
    } >"$site/$1.html"
}

# manual PAGE: as HTML. References to pages of which there is no file here get an empty href.
manual() {
    (cd man && mandoc -T html -I os="ddprun $version" -O 'fragment,toc,man=%N.%S.html;' \
        "${1#man/}")
}

# markdown: standard input as HTML. Names of pages become links; a link to what is in the source
# tree alone becomes its name there.
markdown() {
    cmark-gfm --extension table |
        sed -E -e 's,<a href="([^:"#]*)">[^<]*</a>,<code>\1</code>,g' \
            -e 's,\b(ddprun[-a-z]*)\(([157])\),<a href="\1.\2.html">&</a>,g' \
            -e 's,<code>(CHANGELOG|SECURITY|CONTRIBUTING)\.md</code>,<a href="\1.html">&</a>,g'
}

# index: what README says first, and each page with its description.
index() {
    local section page text
    awk '/^$/ && ++blank == 2 { exit } { print }' README.md | markdown
    echo "<p>Begin with $(link README README): ${about[README]}.</p>"
    for section in 1 5 7; do
        echo "<h2>${headings[$section]}</h2><dl>"
        for page in $(pages "$section"); do
            echo "<dt>$(link "${page#man/}" "$(name_of "$page")")</dt>"
            echo "<dd>$(description_of "$page")</dd>"
        done
        echo '</dl>'
    done
    echo '<h2>Texts</h2><dl>'
    for text in "${texts[@]}"; do
        echo "<dt>$(link "$text" "$text")</dt><dd>${about[$text]}</dd>"
    done
    echo '</dl>'
}

need cmark-gfm cmark-gfm
need mandoc mandoc
need python3 python3
export LC_ALL=C.UTF-8
umask 022
version=$(sed -n 's/^project(ddprun VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
site=${given:-$PWD/build/dist/site}
[[ -n $given ]] || rm -rf "$site"
mkdir -p "$site"
if [[ -n $(ls -A "$site") ]]; then
    echo "site.sh: the folder '$site' is not empty; name a new one" >&2
    exit 2
fi

all_pages=$(navigation)
cp packaging/site.css "$site/style.css"
index | put index "ddprun: the manual"
for page in man/*.[157]; do
    manual "$page" | put "${page#man/}" "$(name_of "$page")"
done
python3 packaging/site_manual.py "$site"/ddprun*.[157].html
for text in "${texts[@]}"; do
    markdown <"$text.md" | put "$text" "$text"
done
echo "$site/index.html"
