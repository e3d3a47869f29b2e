#!/usr/bin/env bash
# Builds ddprun for machines that have nothing but glibc 2.28 or newer, and packages of it: in
# build/dist a tarball, .deb, .rpm and wheel, in build/dist/MACHINE the program alone.
#   packaging/build.sh                    for x86-64 and aarch64
#   packaging/build.sh x86_64             for one of them
# The compiler comes from PyPI and the libraries' sources from Debian; compiler.txt and
# sources.sha256 name both by their sums. The same commit gives the same bytes everywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=packaging/inputs.sh
source packaging/inputs.sh
# shellcheck source=packaging/libraries.sh
source packaging/libraries.sh
# shellcheck source=packaging/packages.sh
source packaging/packages.sh

glibc=2.28
dist=$PWD/build/dist
cache=$dist/.cache
export zig=$cache/compiler/ziglang/zig
version=$(sed -n 's/^project(ddprun VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
summary=$(sed -n 's/^ *DESCRIPTION "\(.*\)".*/\1/p' CMakeLists.txt)
export version summary

need() {
    command -v "$1" >/dev/null || { echo "build.sh: $1 not found; install $2" >&2; exit 1; }
}

# quietly NAME COMMAND...: its output is shown only if it fails, by the trap: after || the shell
# would ignore what fails within COMMAND.
log=/dev/null
exec 3>&2
trap '[[ $? -eq 0 ]] || cat "$log" >&3' EXIT
quietly() {
    local name=$1 start=$SECONDS
    shift
    log=$cache/$name.log
    "$@" >"$log" 2>&1
    log=/dev/null
    echo "$name: $((SECONDS - start)) s"
}

# build MACHINE: $dist/MACHINE/ddprun
build() {
    local work=$cache/$1 prefix=$cache/$1/libraries key
    local -x target=$1-linux-gnu.$glibc flags="-ffile-prefix-map=$PWD/="
    # ddprun has no loop that these would make faster, and they cost 1.4 % of its bytes.
    local small="-fno-vectorize -fno-slp-vectorize -fno-unroll-loops"
    key=$(cd packaging && sha256sum compiler.txt sources.sha256 toolchain.cmake libraries.sh \
        ./*/CMakeLists.txt)
    if [[ ! -e $prefix/key || $(<"$prefix/key") != "$key" ]]; then
        quietly "$1-libraries" build_libraries "$cache/unpacked" "$work/parts" "$prefix"
        echo "$key" >"$prefix/key"
    fi
    quietly "$1-configure" configure . "$work/ddprun" -DCMAKE_FIND_ROOT_PATH="$prefix" \
        -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 \
        -DCMAKE_CXX_FLAGS="$flags -ffunction-sections -fdata-sections" \
        -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG $small" \
        -DCMAKE_EXE_LINKER_FLAGS="-s -Wl,--gc-sections" -DDDPRUN_WORKER=OFF -DDDPRUN_TESTS=OFF
    quietly "$1-ddprun" cmake --build "$work/ddprun" --target ddprun
    install -D "$work/ddprun/bin/ddprun" "$dist/$1/ddprun"
}

[[ $PWD != *[[:space:]]* ]] ||
    { echo "build: '$PWD' has a blank, which compilers' options cannot hold; move it" >&2; exit 2; }
need apt-get apt
need bzip2 bzip2
need cmake cmake
need dpkg-deb dpkg
need ninja ninja-build
need python3 python3-pip
need rpmbuild rpm
# What would change the result.
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
export ZIG_GLOBAL_CACHE_DIR=$cache/zig ZIG_LOCAL_CACHE_DIR=$cache/zig
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022
mkdir -p "$cache"
quietly compiler fetch_compiler "$cache/compiler"
quietly sources fetch_sources "$cache/sources"
quietly unpack unpack_sources "$cache/sources" "$cache/unpacked"
[[ $# -gt 0 ]] || set -- x86_64 aarch64
for machine in "$@"; do
    build "$machine"
    quietly "$machine-packages" package "$machine"
done
(cd "$dist" && sha256sum ./*.*)
