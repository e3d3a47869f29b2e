#!/usr/bin/env bash
# The presets by which users build, on a machine without doctest: configured alone.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
unset CMAKE_GENERATOR  # a preset names its own
command -v ninja >/dev/null || { echo "skipped: ninja is not installed"; exit 0; }
ctest=$(dirname "$CMAKE")/ctest

# compiles FOLDER: a target there is compiled by this build.
compiles() { grep -F "\"file\": \"$build/$1/" "$build/compile_commands.json"; }

for preset in launcher release; do
    build=$folder/$preset
    quietly "$CMAKE" -S "$SOURCE" --preset "$preset" -B "$build" \
        -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON
    said=$(<"$folder/log")
    [[ $preset == launcher || $said == *"No doctest: the tests are left out"* ]] ||
        fail "the preset $preset does not say that the tests are left out: $said"
    compiles launcher/CMakeFiles/ddprun.dir >/dev/null ||
        fail "the preset $preset does not compile ddprun"
    ! compiles tests || fail "the preset $preset compiles tests without doctest"
    "$ctest" --test-dir "$build" -N | grep -x 'Total Tests: 0' >/dev/null ||
        fail "the preset $preset has tests without doctest"
    [[ $preset != launcher ]] || ! compiles worker || fail "the preset launcher wants LibTorch"
done
