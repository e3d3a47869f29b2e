#!/usr/bin/env bash
# What needs a GPU: the examples with one rank for each GPU here, their gradients averaged by NCCL,
# and again after a worker was killed. Where there is no GPU it says so and passes.
#   tests/gpu.sh [PREFIX]   PREFIX: CMAKE_PREFIX_PATH of a LibTorch with CUDA; by default the one of
#                           the PyTorch that python3 imports
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/parts.sh
source .ci/parts.sh

folder=$PWD/build/gpu
ddprun=$folder/bin/ddprun

gpus_count() { { nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU ' || true; }

configure_and_build() {
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDDPRUN_TESTS=OFF \
        -DDDPRUN_WORKER=ON -DCMAKE_PREFIX_PATH="$1" &&
        cmake --build "$folder" -j "$jobs"
}

# expect NAME COMMAND...: one test.
expect() {
    local name=$1 status=passed
    shift
    "$@" || status=failed
    record "$status" "$part_name: $name"
    [[ $status == passed ]]
}

# run_job NAME ARGUMENTS...: one rank for each GPU; what it and NCCL print goes to NAME.log.
run_job() {
    local name=$1 status=0
    shift
    rm -rf "${folder:?}/$name"
    mkdir -p "$folder/$name"
    (cd "$folder/$name" && NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT timeout 300 "$ddprun" \
        --standalone --nproc-per-node=gpu --snapshot snapshot.pt "$@") >"$folder/$name.log" 2>&1 ||
        status=$?
    cat "$folder/$name.log"
    return "$status"
}

# uses_nccl NAME: every rank of the job has made a communicator of all.
uses_nccl() {
    local rank
    for ((rank = 0; rank < gpus; ++rank)); do
        grep -Eq "rank $rank nranks $gpus .*Init COMPLETE" "$folder/$1.log" || return 1
    done
}

# The process of rank 0 is killed in the first generation, once there is a snapshot.
killed_once() {
    # shellcheck disable=SC2016 # the workers' shell expands it
    run_job killed --max-restarts 1 --no-python bash -c '
        [[ $TORCHELASTIC_RESTART_COUNT -gt 0 || $RANK -gt 0 ]] && exec "$@"
        "$@" & until [[ -e snapshot.pt ]]; do sleep 0.1; done
        kill -KILL $! && wait $!' bash "$folder/bin/toy" 500 50
}

accurate() { grep -Eq 'test accuracy: (8|9)[0-9]' "$folder/fashion_mnist.log"; }

test_gpus() {
    local status=0
    expect "toy ends well" run_job toy "$folder/bin/toy" 20 10 || status=1
    expect "toy's gradients go through NCCL" uses_nccl toy || status=1
    expect "fashion_mnist ends well" run_job fashion_mnist "$folder/bin/fashion_mnist" || status=1
    expect "fashion_mnist's gradients go through NCCL" uses_nccl fashion_mnist || status=1
    expect "fashion_mnist learns" accurate || status=1
    expect "toy goes on after kill -9" killed_once || status=1
    expect "toy goes on from its snapshot" grep -q 'Resuming training' "$folder/killed.log" ||
        status=1
    return "$status"
}

gpus=$(gpus_count)
if [[ $gpus -eq 0 ]]; then
    echo "no GPU: nvidia-smi -L lists none, so nothing was tested"
    record skipped "gpu" "this machine has no GPU"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
prefix=${1:-$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')}
echo "$gpus GPU, LibTorch in $prefix"
if part "build gpu" 600 configure_and_build "$prefix"; then
    part "gpu" 600 test_gpus || true
fi
summary
