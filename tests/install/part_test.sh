#!/usr/bin/env bash
# This tree as a part of another project with the program of examples/template, by FetchContent and
# by add_subdirectory: configured alone.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"

# flags SOURCE: the options that it is compiled with.
flags() { grep "^ *\"command\": .*-c [^ ]*/$1\"" "$build/compile_commands.json"; }

check_options() {
    [[ $(flags launcher/main.cpp) == *" -Wall "*" -Werror "* ]] ||
        fail "$way: ddprun lost its warnings"
    [[ $(flags template/train.cpp) != *" -W"* ]] || fail "$way: the project got ddprun's warnings"
    [[ $(flags template/train.cpp) != *"-I$SOURCE "* ]] ||
        fail "$way: the project got ddprun's sources"
}

check_link() {
    local rule
    [[ -e $build/build.ninja ]] || return 0
    rule=$(sed -n '/^build \(template\/\)\?train:/,/^$/p' "$build/build.ninja")
    [[ $rule == *libddprun_worker.a* ]] || fail "$way: the project links no worker runtime: $rule"
    # CMake has options of its own there from 3.27 on.
    ! grep -E '^ *LINK_FLAGS = .*(-pie|relro)' <<<"$rule" ||
        fail "$way: the project links with ddprun's options"
}

check_extent() {
    local other ctest
    for other in tests/ examples/toy bench/; do
        ! grep -F "$SOURCE/$other" "$build/compile_commands.json" ||
            fail "$way: $other is compiled too"
    done
    ctest=$(dirname "$CMAKE")/ctest
    "$ctest" --test-dir "$build" -N | grep -x 'Total Tests: 0' >/dev/null ||
        fail "$way: it has tests"
    quietly "$CMAKE" --install "$build" --prefix "$prefix"
    [[ ! -e $prefix ]] ||
        fail "$way: the project installs $(find "$prefix" -type f | head -n 3)"
}

# test_part WAY: what the project says for it is read from standard input.
test_part() {
    way=$1 build=$folder/$1/build
    mkdir "$folder/$1"
    {
        printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(around LANGUAGES CXX)' \
            'enable_testing()'
        cat
    } >"$folder/$1/CMakeLists.txt"
    quietly "$CMAKE" -S "$folder/$1" -B "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        -DCMAKE_PREFIX_PATH="$TORCH_PREFIX" -DDDPRUN_WARNINGS_AS_ERRORS=ON
    check_options
    check_link
    check_extent
}

test_part FetchContent <<END
include(FetchContent)
FetchContent_Declare(ddprun SOURCE_DIR "$SOURCE" OVERRIDE_FIND_PACKAGE)
add_subdirectory("$SOURCE/examples/template" template)
END
# The template itself asks for the package, which only FetchContent replaces.
test_part add_subdirectory <<END
add_subdirectory("$SOURCE" ddprun)
add_executable(train "$SOURCE/examples/template/train.cpp")
target_link_libraries(train PRIVATE ddprun::worker)
END
