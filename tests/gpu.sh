#!/usr/bin/env bash
# What needs a GPU: how many there are and whose cores, training by NCCL, snapshots between GPU and
# CPU, failures and kills on a GPU, and some times. Each test is one line; the output of all of them
# and the log of each job stay in build/gpu/logs. Where there is no GPU it says so and passes.
#   tests/gpu.sh [PREFIX]         PREFIX: CMAKE_PREFIX_PATH of a LibTorch with CUDA; by default the
#                                 one of the PyTorch that python3 imports
#   tests/gpu.sh --built FOLDER   runs ddprun, toy, fashion_mnist, sums, resnet18 and illegal of
#                                 FOLDER/bin, which were built elsewhere, with the libraries of the
#                                 PyTorch of python3
# GPU_DATA: the folder of Fashion-MNIST. GPU_SECONDS: the tests that have not begun by then are
# skipped. GPU_ONLY: the groups to run, such as "counts kills". GPU_ROUNDS: of what is measured.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/parts.sh
source .ci/parts.sh
# shellcheck source=tests/gpu/kit.sh
source tests/gpu/kit.sh
# shellcheck source=tests/gpu/counts.sh
source tests/gpu/counts.sh
# shellcheck source=tests/gpu/training.sh
source tests/gpu/training.sh
# shellcheck source=tests/gpu/failures.sh
source tests/gpu/failures.sh
# shellcheck source=tests/gpu/kills.sh
source tests/gpu/kills.sh
# shellcheck source=tests/gpu/speed.sh
source tests/gpu/speed.sh
# shellcheck source=tests/gpu/resnet18.sh
source tests/gpu/resnet18.sh

configure_and_build() {
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDDPRUN_TESTS=OFF \
        -DDDPRUN_GPU_TESTS=ON -DDDPRUN_WORKER=ON -DCMAKE_PREFIX_PATH="$1" &&
        cmake --build "$folder" -j "$jobs" || return 1
    build_illegal || true
}

build_illegal() { nvcc -o "$folder/bin/illegal" tests/gpu/illegal.cu; }

folder=$PWD/build/gpu
prefix=
built=no
if [[ ${1:-} == --built ]]; then
    built=yes
    folder=$(realpath "$2")
else
    prefix=${1:-}
fi
prepare_kit "$folder"
if [[ $gpus -eq 0 ]]; then
    echo "no GPU: nvidia-smi -L lists none, so nothing was tested"
    record skipped "gpu" "this machine has no GPU"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
if [[ $built == yes ]]; then
    export LD_LIBRARY_PATH
    LD_LIBRARY_PATH=$(torch_libraries)
    [[ -x $folder/bin/illegal ]] || build_illegal || true
else
    prefix=${prefix:-$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')}
    echo "$gpus GPU, LibTorch in $prefix"
    part "build gpu" 600 configure_and_build "$prefix" || { summary; exit 1; }
fi
part_name=gpu
show_machine
for group in ${GPU_ONLY:-counts training failures kills resnet18 speed}; do
    "test_$group" || true
done
show_facts
summary
