# Shell functions for packaging/build.sh: the libraries that ddprun links, as archives. They compile
# by $zig for $target, with $flags.
# shellcheck shell=bash
# shellcheck disable=SC2154  # build.sh sets these
set -e

# build_libraries SOURCES WORK PREFIX
build_libraries() {
    local sources=$1 work=$2 prefix=$3
    rm -rf "$work" "$prefix"
    build_by_cmake "$sources/yaml-cpp" "$work/yaml-cpp" "$prefix" \
        -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_CPP_BUILD_CONTRIB=OFF
    build_by_cmake "$sources/fmtlib" "$work/fmt" "$prefix" -DFMT_TEST=OFF -DFMT_DOC=OFF
    build_by_cmake "$sources/nlohmann-json3" "$work/json" "$prefix" -DJSON_BuildTests=OFF
    build_by_cmake packaging/boost "$work/boost" "$prefix" "-DBOOST_SOURCE=$sources/boost"
    build_by_cmake packaging/sodium "$work/sodium" "$prefix" "-DSODIUM_SOURCE=$sources/libsodium"
}

# configure SOURCE BUILD OPTION...
configure() {
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/packaging/toolchain.cmake" \
        -DDDPRUN_ZIG="$zig" -DDDPRUN_TARGET="$target" \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" "${@:3}"
}

# build_by_cmake SOURCE BUILD PREFIX OPTION...
build_by_cmake() {
    configure "$1" "$2" -DCMAKE_INSTALL_PREFIX="$3" -DCMAKE_INSTALL_LIBDIR=lib \
        -DBUILD_SHARED_LIBS=OFF "${@:4}"
    cmake --build "$2"
    cmake --install "$2"
}
