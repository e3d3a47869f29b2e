#!/usr/bin/env bash
# Which commit launcher/commit.cmake finds, and when it writes the source.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 0; }

tree=$folder/clone/tree
source_file=$folder/commit.cpp
mkdir -p "$tree"

in_git() {
    GIT_CONFIG_GLOBAL=/dev/null quietly \
        git -C "$1" -c user.name=a -c user.email=a@b -c commit.gpgsign=false "${@:2}"
}

# expect TEXT: the source names it as the commit.
expect() {
    local commit
    quietly "$CMAKE" -DSOURCE_DIR="$tree" -DOUTPUT="$source_file" -P "$SOURCE/launcher/commit.cmake"
    commit=$(sed -n 's/.*commit = "\(.*\)";/\1/p' "$source_file")
    [[ $commit == "$1" ]] || fail "the commit is '$commit', not '$1'"
}

# A tarball's tree, within a clone of something else.
in_git "$folder/clone" init
in_git "$folder/clone" commit --allow-empty -m around
expect "unknown"

in_git "$tree" init
echo 1 >"$tree/file"
in_git "$tree" add file
in_git "$tree" commit -m first
first=$(git -C "$tree" rev-parse HEAD)
expect "${first:0:12}"

# The same commit: the source stays as it is, so nothing is compiled.
touch -d 2000-01-01 "$source_file"
echo 1 >"$tree/untracked"
expect "${first:0:12}"
[[ $(date -r "$source_file" +%Y) == 2000 ]] || fail "the source was written without need"

echo 2 >"$tree/file"
expect "${first:0:12}, changed"
in_git "$tree" commit -a -m second
second=$(git -C "$tree" rev-parse HEAD)
expect "${second:0:12}"
