#!/usr/bin/env bash
# The source tree as a part of another project, which is examples/template: configured alone.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"

mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES CXX)
include(FetchContent)
enable_testing()
FetchContent_Declare(ddprun SOURCE_DIR "$SOURCE" OVERRIDE_FIND_PACKAGE)
add_subdirectory("$SOURCE/examples/template" template)
END
build=$folder/build
quietly "$CMAKE" -S "$folder/project" -B "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DCMAKE_PREFIX_PATH="$TORCH_PREFIX" -DDDPRUN_WARNINGS_AS_ERRORS=ON

# flags SOURCE: the options that it is compiled with.
flags() { grep "^ *\"command\": .*-c [^ ]*/$1\"" "$build/compile_commands.json"; }
[[ $(flags launcher/main.cpp) == *" -Wall "*" -Werror "* ]] || fail "ddprun lost its warnings"
[[ $(flags template/train.cpp) != *" -W"* ]] || fail "the project got ddprun's warnings"
[[ $(flags template/train.cpp) != *"-I$SOURCE "* ]] || fail "the project got ddprun's sources"
if [[ -e $build/build.ninja ]]; then
    ! sed -n '/^build template\/train:/,/^$/p' "$build/build.ninja" | grep ' LINK_FLAGS = ' ||
        fail "the project links with ddprun's options"
fi

for other in tests/ examples/toy bench/; do
    ! grep -F "$SOURCE/$other" "$build/compile_commands.json" || fail "$other is compiled too"
done
ctest=$(dirname "$CMAKE")/ctest
"$ctest" --test-dir "$build" -N | grep -x 'Total Tests: 0' >/dev/null || fail "it has tests"
quietly "$CMAKE" --install "$build" --prefix "$prefix"
[[ ! -e $prefix ]] || fail "the project installs $(find "$prefix" -type f | head -n 3)"
