# Shell functions for bench/run.sh: PyTorch and torchrun to measure against, and the programs that
# measure.
# shellcheck shell=bash source=bench/common.sh disable=SC2034 # others use what it sets
source bench/common.sh

torch_version=2.15.0  # of PyPI

# Sets python, torchrun, pytorch, libtorch and torch_prefix: PyPI's newest into a throw-away
# environment, else Debian's.
find_peers() {
    local venv=$bench/venv
    if install_pytorch "$venv"; then
        python=$venv/bin/python
        torch_prefix=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)')
    elif /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null; then
        missing "PyTorch $torch_version cannot be had from PyPI here; Debian's takes its place."
        python=/usr/bin/python3
    else
        missing "No PyTorch is installed and none can be had from PyPI: Python is not measured."
    fi
    libtorch="Debian's $(dpkg-query -W -f='${Version}' libtorch-dev 2>/dev/null || echo unknown)"
    [[ -n $python ]] || return 0
    torchrun=("$python" -m torch.distributed.run)
    # Debian's 1.13 on Python 3.11 only starts when it is told to redirect something.
    [[ -n $torch_prefix ]] || torchrun+=(--redirects 1 --tee 1)
    pytorch=$("$python" -c 'import sys, torch; print(torch.__version__, "on Python",
        sys.version.split()[0])')
    [[ -z $torch_prefix ]] || libtorch="PyPI's torch $torch_version, the same files as Python's"
}

# install_pytorch FOLDER: a virtual environment, unless the last run has left it there.
install_pytorch() {
    [[ $("$1/bin/python" -c 'import torch; print(torch.__version__)' 2>/dev/null) == \
        "$torch_version"* ]] && return 0
    step "torch $torch_version from PyPI into $1, some 5 GiB"
    rm -rf "$1"
    mkdir -p "$(dirname "$1")"
    /usr/bin/python3 -m venv "$1" &&
        "$1/bin/pip" install --quiet "torch==$torch_version" numpy
}

# build_programs BENCH...: the launcher as users build it, and for those benches that need them C++
# workers on the LibTorch that Python uses as well.
build_programs() {
    local worker=OFF targets=(stopwatch stamp mark lines agents growth store_load)
    if [[ " $* " =~ \ (restart|ddp|snapshot)\  ]]; then
        worker=ON
        targets+=(write_snapshot toy fashion_mnist)
    fi
    step "build"
    {
        cmake --preset release
        cmake --build --preset release -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target ddprun
        cmake -S . -B "$bench/programs" -G Ninja -DCMAKE_BUILD_TYPE=Release \
            -DDDPRUN_BENCH=ON -DDDPRUN_TESTS=OFF -DDDPRUN_WORKER="$worker" \
            -DCMAKE_PREFIX_PATH="$torch_prefix"
        cmake --build "$bench/programs" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
            --target "${targets[@]}"
    } >"$results/build.log" 2>&1 || { cat "$results/build.log" >&2; exit 1; }
}
