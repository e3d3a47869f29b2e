#!/usr/bin/env bash
# Makes build/dist/ddprun-gpu, a folder for a machine with GPUs and no network, and the same as
# build/dist/ddprun-gpu.tar.gz. That machine needs PyTorch, CMake, Ninja and g++; run.sh there
# builds the workers against its LibTorch, and tests them. In the folder:
#   run.sh       packaging/bundle/run.sh, which begins with how it is called
#   bin/         the portable ddprun
#   source/      what is compiled there, with tests/gpu.sh and the Python peers
#   libraries/   sources of Boost, nlohmann-json and zlib, as far as workers need them
#   data/        the first 20,000 training images of Fashion-MNIST, and its test images
#   packaging/gpu_bundle.sh               DDPRUN_FASHION_MNIST: the folder of its four files
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DDPRUN_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
mib_max=40
dist=$PWD/build/dist
unpacked=$dist/.cache/unpacked
bundle=$dist/ddprun-gpu

fail() {
    echo "gpu_bundle.sh: $*" >&2
    exit 1
}

copy_source() {
    mkdir "$bundle/source"
    tar --create --exclude=__pycache__ CMakeLists.txt LICENSE hardening.cmake worker examples \
        rendezvous/*.hpp tests/gpu tests/gpu.sh .ci/parts.sh bench/fashion_mnist.py \
        packaging/boost packaging/zlib | tar --extract --directory="$bundle/source"
}

# Of Boost, whose headers have 180 MiB, those that g++ reads for Boost.Program_options. Those of
# boost/config all come along, since another g++ reads others there.
copy_boost() {
    local options=libs/program_options/src
    (
        cd "$unpacked/boost"
        {
            echo LICENSE_1_0.txt
            find include/boost/config "$options" -type f
            echo '#include <boost/program_options.hpp>' |
                g++ -std=c++20 -Iinclude -M -x c++ - "$options"/[!w]*.cpp |
                grep -o 'include/boost/[^ ]*'
        } | sort -u | tar --create --files-from=-
    ) | tar --extract --directory="$1"
}

copy_libraries() {
    local to=$bundle/libraries
    mkdir -p "$to/boost" "$to/nlohmann-json" "$to/zlib"
    copy_boost "$to/boost"
    (cd "$unpacked/nlohmann-json3" && cp -r CMakeLists.txt LICENSE.MIT cmake include ./*.natvis \
        "$to/nlohmann-json")
    (cd "$unpacked/zlib" && cp LICENSE ./*.[ch] "$to/zlib")
}

copy_data() {
    local name
    mkdir "$bundle/data"
    for name in {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz; do
        [[ -r $data/$name ]] ||
            fail "cannot read $data/$name; install Debian's dataset-fashion-mnist, or set" \
                "DDPRUN_FASHION_MNIST to the folder of its four files"
    done
    cp "$data"/t10k-*.gz "$bundle/data"
    python3 packaging/bundle/first_images.py 20000 "$data" "$bundle/data"
}

# is_small FOLDER: all its files together.
is_small() {
    local bytes
    bytes=$(find "$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum }')
    echo "$1: $(((bytes + (1 << 20) - 1) >> 20)) MiB of at most $mib_max MiB"
    ((bytes <= mib_max << 20))
}

packaging/build.sh "$(uname -m)"
rm -rf "$bundle"
mkdir -p "$bundle/bin"
cp "$dist/$(uname -m)/ddprun" "$bundle/bin"
cp packaging/bundle/run.sh "$bundle"
copy_source
copy_libraries
copy_data
is_small "$bundle" || fail "the bundle is too large; du -a $bundle shows which files"
tar --create --gzip --file="$bundle.tar.gz" --directory="$dist" --owner=0 --group=0 ddprun-gpu
