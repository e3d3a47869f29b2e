#!/usr/bin/env bash
# Builds ddprun's workers against the LibTorch of python3's PyTorch, tries them on the CPU, and runs
# tests/gpu.sh with them if this machine has a GPU. It needs python3 with PyTorch 2 or newer, CMake
# 3.25 or newer, Ninja and g++ 12 or newer, and no network. All that it writes is in build/.
#   ./run.sh            builds and tests
#   ./run.sh --build    builds alone
# The variables of source/tests/gpu.sh hold here, too, such as GPU_ONLY="counts kills".
set -euo pipefail
cd "$(dirname "$0")"

folder=$PWD/build
bin=$folder/workers/bin
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

fail() {
    echo "run.sh: $1" >&2
    exit 1
}

# build NAME SOURCE TARGET OPTION...: by CMake, in build/NAME.
build() {
    cmake -S "$2" -B "$folder/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release "${@:4}" &&
        cmake --build "$folder/$1" -j "$jobs" --target "$3"
}

# build_library NAME SOURCE OPTION...: and installs it into build/libraries.
build_library() {
    build "$1" "$2" install -DCMAKE_INSTALL_PREFIX="$folder/libraries" \
        -DCMAKE_INSTALL_LIBDIR=lib "${@:3}"
}

# build_all TORCH: TORCH is LibTorch's CMAKE_PREFIX_PATH. Up to 30 sources are compiled together,
# since LibTorch's headers take most of the time.
build_all() {
    build_library boost source/packaging/boost -DBOOST_SOURCE="$PWD/libraries/boost" &&
        build_library zlib source/packaging/zlib -DZLIB_SOURCE="$PWD/libraries/zlib" &&
        build_library json libraries/nlohmann-json -DJSON_BuildTests=OFF &&
        build workers source gpu_programs -DDDPRUN_LAUNCHER=OFF -DDDPRUN_WORKER=ON \
            -DDDPRUN_GPU_TESTS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=30 \
            -DCMAKE_PREFIX_PATH="$folder/libraries;$1"
}

# The formats of pictures and arrays whose libraries CMake has not found here.
left_out() {
    local format
    for format in JPEG PNG HDF5; do
        grep -q "DDDPRUN_$format\b" "$folder/workers/build.ninja" || echo "$format"
    done
}

# try NAME OPTIONS...: a job of two workers on the CPU, in an empty folder.
try() {
    local name=$1 job=$folder/jobs/$1 log=$folder/$1.log
    shift
    rm -rf "$job"
    mkdir -p "$job"
    if (cd "$job" && CUDA_VISIBLE_DEVICES='' timeout 300 \
        "$bin/ddprun" --standalone --nproc-per-node=2 "$@") >"$log" 2>&1; then
        echo "passed on the CPU: $name"
    else
        tail -n 40 "$log"
        fail "'$name' failed on the CPU; all of its output is in $log"
    fi
}

# Rank 0 of the first generation is killed once there is a snapshot, from which the next goes on.
# shellcheck disable=SC2016 # the workers' shell expands it
killed_once=(--no-python bash -c '
    [[ $TORCHELASTIC_RESTART_COUNT -gt 0 || $RANK -gt 0 ]] && exec "$@"
    "$@" & until [[ -e snapshot.pt ]]; do sleep 0.1; done
    kill -KILL $! && wait $!' bash)

try_on_cpu() {
    export OMP_NUM_THREADS=1
    try sums "$bin/sums" 2
    try toy --max-restarts=1 --snapshot=snapshot.pt "${killed_once[@]}" "$bin/toy" 500 50
    grep -q 'Resuming training from snapshot' "$folder/toy.log" ||
        fail "toy did not resume after a kill; its output is in $folder/toy.log"
    try fashion_mnist "$bin/fashion_mnist" --data "$PWD/data" --train-images 1280
    try resnet18 "$bin/resnet18" bfloat16 4 8 32
    try resnet18_in_python python3 "$PWD/source/tests/gpu/worker.py" resnet18 bfloat16 4 8 32
    unset OMP_NUM_THREADS
}

case ${1:-} in
    "" | --build) ;;
    *) fail "there is no option '$1'; the first lines of run.sh name those that there are" ;;
esac
for program in python3 cmake ninja g++; do
    command -v "$program" >/dev/null || fail "$program not found on PATH; install it"
done
torch=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)') ||
    fail "python3 imports no PyTorch; put the python3 that has one first on PATH"
mkdir -p "$folder"
build_all "$torch" >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log"
    fail "the build failed; all of its output is in $folder/build.log"
}
times >"$folder/times"  # its second line is that of this shell's commands
processor=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' \
    "$folder/times")
cp bin/ddprun "$bin"
echo "built against $torch by $jobs jobs in $SECONDS s, processor $processor s;" \
    "left out: $(left_out | paste -s -d ' ')"
[[ ${1:-} != --build ]] || exit 0
try_on_cpu
GPU_DATA=${GPU_DATA:-$PWD/data} exec source/tests/gpu.sh --built "$folder/workers"
