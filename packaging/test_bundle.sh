#!/usr/bin/env bash
# Tests build/dist/ddprun-gpu.tar.gz, which packaging/gpu_bundle.sh makes, as a machine without
# network runs it: in a Debian 12 that has python3, CMake, Ninja, g++ and PyTorch, and no library
# that ddprun links. Root only; it needs mmdebstrap and iproute2. By hand, in 10 minutes:
#   packaging/test_bundle.sh [PYTHON]     PYTHON: a Python 3.11 that has PyTorch, whose packages are
#                                         used; by default PyTorch from PyPI, some 5 GiB, which is
#                                         kept in build/dist/.cache
# BUNDLE_SECONDS: how long the build may take on two idle cores, 300 s unless given. Its processor
# time is compared with twice that, which hardly depends on what else the machine does.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$PWD/build/dist
clean=$dist/.cache/bookworm
seconds_max=${BUNDLE_SECONDS:-300}

fail() {
    echo "test_bundle.sh: $1" >&2
    exit 1
}

# The Debian without libraries; it takes a minute or two the first time.
make_clean_root() {
    [[ ! -d $clean ]] || return 0
    rm -rf "$clean.part"
    mmdebstrap --quiet --mode=root --variant=apt --include=python3,cmake,ninja-build,g++ \
        bookworm "$clean.part" ${DDPRUN_DEBIAN_MIRROR:+"$DDPRUN_DEBIAN_MIRROR"}
    mv "$clean.part" "$clean"
}

# pypi_python: prints a Python that has PyTorch from PyPI.
pypi_python() {
    local venv=$dist/.cache/torch
    if [[ ! -d $venv ]]; then
        rm -rf "$venv.part"
        /usr/bin/python3 -m venv "$venv.part"
        "$venv.part/bin/python" -m pip install --quiet torch==2.15.0 numpy >&2
        mv "$venv.part" "$venv"
    fi
    echo "$venv/bin/python"
}

# in_root PACKAGES COMMAND...: as on a machine of its own without network, whose python3 has the
# packages of that folder.
in_root() {
    # shellcheck disable=SC2016  # the inner shell expands these
    unshare --mount --net --pid --fork --kill-child sh -c '
        ip link set lo up
        mount --bind "$2" "$1/opt" && mount -o remount,bind,ro "$1/opt"
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"
        root=$1 && shift 2
        exec chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root PYTHONPATH=/opt "$@"
        ' sh "$root" "$@"
}

[[ -e $dist/ddprun-gpu.tar.gz ]] ||
    fail "there is no $dist/ddprun-gpu.tar.gz; run packaging/gpu_bundle.sh first"
[[ $EUID -eq 0 ]] || fail "only root can be in another system; run it as root"
for program in ip mmdebstrap; do
    command -v "$program" >/dev/null || fail "$program not found on PATH; install its package"
done
python=${1:-$(pypi_python)}
packages=$("$python" -c 'import os, sys, torch
assert sys.version_info[:2] == (3, 11), "not Python 3.11, which Debian 12 has"
print(os.path.dirname(os.path.dirname(torch.__file__)))')
make_clean_root
root=$(mktemp -d)
log=$dist/.cache/bundle.log
trap 'rm -rf "$root"' EXIT
cp -a "$clean/." "$root"
tar --extract --file="$dist/ddprun-gpu.tar.gz" --directory="$root/root"
in_root "$packages" /root/ddprun-gpu/run.sh | tee "$log"
processor=$(sed -n 's/^built .*, processor \([0-9]*\) s;.*/\1/p' "$log")
((processor <= 2 * seconds_max)) ||
    fail "the build took $processor s of the processor, more than $((2 * seconds_max)) s"
[[ $(grep -c '^passed on the CPU' "$log") -eq 5 ]] || fail "fewer than 5 jobs ran on the CPU"
