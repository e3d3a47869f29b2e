#!/usr/bin/env bash
# Installs what is missing of the named sets of Debian packages; silent when all is there.
# Usage: .ci/packages.sh [build] [data] [test] [ci] [slurm] [packaging]
#   build  to configure and compile everything        data  what examples/quickstart.sh trains on
#   test   what tests run                             ci    what tests/run.sh --all adds
#   slurm  what tests/slurm runs; its tests start daemons of their own and need no others
#   packaging  what the scripts of packaging/ use, with build and data for packaging/gpu_bundle.sh
set -euo pipefail

# The versions of Debian 12 that go with its other packages are not its defaults.
boost='' clang_rt=''
if [[ -r /etc/os-release ]] && grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release; then
    boost=1.81 clang_rt=-14
fi

declare -A sets=(
    [build]="g++ cmake ninja-build libboost$boost-dev libboost-program-options$boost-dev libfmt-dev
        libsodium-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev libjpeg-dev
        libpng-dev libhdf5-dev libtorch-dev doctest-dev"
    [data]="dataset-fashion-mnist"
    [test]="mandoc python3 python3-h5py python3-jsonschema python3-torch python3-yaml procps
        iproute2 e2fsprogs tmux"
    [ci]="clang clang-format clang-tidy fish libclang-rt$clang_rt-dev shellcheck python3-venv
        ca-certificates cmark-gfm tidy zsh"
    [slurm]="munge slurm-client slurmctld slurmd"
    [packaging]="bzip2 cmake ninja-build python3-pip python3-venv rpm mmdebstrap qemu-user-static
        cmark-gfm mandoc tidy"
)
known="build data test ci slurm packaging"

wanted=()
for set in "$@"; do
    if [[ -z ${sets[$set]:-} ]]; then
        echo "packages: unknown set '$set'; there are: $known" >&2
        exit 2
    fi
    read -r -d '' -a names <<<"${sets[$set]}" || true
    wanted+=("${names[@]}")
done
[[ ${#wanted[@]} -gt 0 ]] || { echo "packages: name a set: $known" >&2; exit 2; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages: this is no Debian; make sure that these are installed: ${wanted[*]}" >&2
    exit 0
fi

# Names each package that is installed; says nothing of the others.
installed() {
    { dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true; } |
        sed -n 's/^ii  *//p'
}

missing=()
present=" $(installed | tr '\n' ' ') "
for name in "${wanted[@]}"; do
    [[ $present == *" $name "* ]] || missing+=("$name")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || {
        echo "packages: not root and no sudo; install these first: ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
must() {
    apt "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "packages: apt-get $1 failed" >&2; exit 1; }
}

echo "packages: installing ${missing[*]}"
must update
must --simulate install --no-install-recommends "${missing[@]}"
replaced=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' "$log" | tr '\n' ' ')
[[ -z $replaced ]] || echo "packages: these conflict with them and will be removed: $replaced"
must install --yes --no-install-recommends "${missing[@]}"
