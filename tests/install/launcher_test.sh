#!/usr/bin/env bash
# What `cmake --install` leaves for users of ddprun itself.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
install_build

programs=$(ls "$prefix/bin")
[[ $programs == ddprun ]] || fail "bin/ has $programs, not ddprun alone"
quietly env -i "$prefix/bin/ddprun" --standalone true

cmp "$SOURCE/LICENSE" "$prefix/share/doc/ddprun/LICENSE" || fail "the licence is not beside it"
for page in "$SOURCE"/man/*.[157]; do
    installed=$prefix/share/man/man${page##*.}/${page##*/}
    cmp "$page" "$installed" || fail "$installed is not $page"
done

for folder in configs examples/slurm; do
    diff -r "$SOURCE/$folder" "$prefix/share/doc/ddprun/$folder" || fail "$folder is another one"
done
