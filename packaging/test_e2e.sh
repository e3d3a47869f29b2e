#!/usr/bin/env bash
# Runs the e2e tests with the program that packaging/build.sh has made for this machine, in the
# place of the one that the build has made. By hand, in ten minutes:
#   packaging/test_e2e.sh [OPTION OF CTEST...]
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/dist/$(uname -m)/ddprun
build=build/portable_e2e
[[ -x $program ]] || { echo "test_e2e.sh: no $program; make it by packaging/build.sh" >&2; exit 1; }
# What they are of: a library that stands before functions of a newer glibc by their names there,
# and the options of this compiler.
without='^e2e sites:|^e2e: the program has what hardening.cmake asks for'
cmake --preset quick -B "$build" >/dev/null
cmake --build "$build"
cp --remove-destination "$program" "$build/bin/ddprun"
ctest --test-dir "$build" -L '^e2e$' -E "$without" -j 4 --output-on-failure "$@"
cmp "$program" "$build/bin/ddprun"    # no test has built another one
