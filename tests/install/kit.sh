# Shell functions for the tests of this folder. ctest sets CMAKE, SOURCE and BUILD: the program, the
# source tree and the folder of its build.
# shellcheck shell=bash
set -euo pipefail

folder=$(mktemp -d)  # of this test, removed at its end
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix

fail() {
    printf 'ERROR: %s\n' "$*" >&2
    exit 1
}

# quietly COMMAND...: shows what it prints only if it fails, which ends the test.
quietly() {
    "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        fail "this command failed: $*"
    }
}

install_build() { quietly "$CMAKE" --install "$BUILD" --prefix "$prefix"; }
