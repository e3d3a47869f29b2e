#!/usr/bin/env bash
# Builds the worker runtime, the examples and their tests against one LibTorch after the other and
# runs these tests; a line for each version, then one for all.
#   tests/torch_matrix.sh                  Debian's LibTorch and PyPI's newest
#   tests/torch_matrix.sh debian 2.7.1 …   these; numbers are releases on PyPI
# PyPI's is installed into an environment that is thrown away afterwards, some 5 GiB. Where it has
# CUDA, as its default for Linux has, the NCCL side of the runtime is compiled and linked as well,
# without a GPU and without a CUDA toolkit.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/parts.sh
source .ci/parts.sh

versions=("$@")
[[ ${#versions[@]} -gt 0 ]] || versions=(debian 2.15.0)

# test_version VERSION: everything for one version, in build/torch-VERSION.
test_version() {
    local version=$1 folder=build/torch-$1 python=/usr/bin/python3 prefix='' status=0
    if [[ $version != debian ]]; then
        python=$folder/venv/bin/python
        if ! install_pytorch "$version" "$folder/venv"; then
            record skipped "$part_name" "it cannot be had from PyPI here"
            rm -rf "$folder/venv"
            return 0
        fi
        prefix=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)')
    fi
    build_and_test "$folder" "$prefix" "$python" || status=1
    rm -rf "$folder/venv"
    return "$status"
}

# install_pytorch VERSION FOLDER
install_pytorch() {
    rm -rf "$2"
    /usr/bin/python3 -m venv "$2" && "$2/bin/pip" install --quiet "torch==$1" numpy
}

# build_and_test FOLDER PREFIX PYTHON
build_and_test() {
    local folder=$1 prefix=$2 python
    python=$(realpath -s "$3")
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DDDPRUN_WORKER=ON \
        -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$folder" -j "$jobs" --target ddprun examples/all tests/worker/all ||
        return 1
    check_nccl "$folder" "$prefix"
    TEST_PYTHON=$python tests_of "$(basename "$folder")" -L '^(worker|install)$'
}

# check_nccl FOLDER PREFIX: with CUDA, whether the programs call NCCL's process group.
check_nccl() {
    local folder=$1 prefix=$2
    [[ -e $prefix/../../lib/libtorch_cuda.so ]] || return 0
    # Not grep -q, which would not wait for nm to end.
    if nm --undefined-only "$folder/bin/worker_test" |
        grep 'c10d16ProcessGroupNCCLC1' >/dev/null; then
        record passed "$part_name: NCCL is compiled and linked"
    else
        record failed "$part_name: NCCL is compiled and linked" "no call of its process group"
    fi
}

# report VERSION SECONDS: its line.
report() {
    awk -F '\t' -v version="$1" -v seconds="$2" '
        index($2, "torch " version ":") == 1 || $2 == "torch " version { count[$1]++ }
        END { printf "torch %s: %d passed, %d failed, %d skipped, %d s\n", version,
            count["passed"], count["failed"], count["skipped"], seconds }' "$results/tests"
}

for version in "${versions[@]}"; do
    started=$SECONDS
    part "torch $version" 900 test_version "$version" || true
    report "$version" $((SECONDS - started))
done
summary
