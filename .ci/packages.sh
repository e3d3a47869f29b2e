#!/usr/bin/env bash
# Installs what is missing of the named sets of Debian packages; silent when all is there. Where apt
# is not, it installs nothing, and names what it does not find.
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
        iproute2 e2fsprogs mount tmux"
    [ci]="clang clang-format clang-tidy fish libclang-rt$clang_rt-dev lld shellcheck python3-venv
        ca-certificates cmark-gfm tidy zsh"
    [slurm]="munge slurm-client slurmctld slurmd"
    [packaging]="binutils bzip2 cmake ninja-build python3-pip python3-venv rpm mmdebstrap
        qemu-user-static cmark-gfm mandoc tidy"
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

# What each package has, to look for it on systems that name it otherwise: commands, headers, files
# or modules of Python, of which one is enough.
declare -A signs=(
    [g++]="g++ clang++" [cmake]=cmake [ninja-build]="ninja ninja-build"
    [libboost$boost-dev]=boost/version.hpp
    [libboost-program-options$boost-dev]=boost/program_options.hpp [libfmt-dev]=fmt/core.h
    [libsodium-dev]=sodium.h [libyaml-cpp-dev]=yaml-cpp/yaml.h
    [nlohmann-json3-dev]=nlohmann/json.hpp [zlib1g-dev]=zlib.h [libjpeg-dev]=jpeglib.h
    [libpng-dev]=png.h [libhdf5-dev]="hdf5.h hdf5/serial/hdf5.h"
    [libtorch-dev]="torch/csrc/api/include/torch/version.h torch/version.h"
    [doctest-dev]=doctest/doctest.h
    [dataset-fashion-mnist]=/usr/share/datasets/fashion-mnist
    [mandoc]=mandoc [python3]=python3 [python3-h5py]=python:h5py
    [python3-jsonschema]=python:jsonschema [python3-torch]=python:torch
    [python3-yaml]=python:yaml [procps]=ps [iproute2]=ip [e2fsprogs]=mkfs.ext4 [mount]=mount
    [tmux]=tmux
    [clang]=clang++ [clang-format]=clang-format [clang-tidy]=clang-tidy [fish]=fish
    [lld]=ld.lld [shellcheck]=shellcheck [python3-venv]=python:ensurepip
    [ca-certificates]=/etc/ssl/certs
    [cmark-gfm]=cmark-gfm [tidy]=tidy [zsh]=zsh
    [munge]=munged [slurm-client]=sbatch [slurmctld]=slurmctld [slurmd]=slurmd
    [binutils]=readelf [bzip2]=bzip2 [python3-pip]=python:pip [rpm]=rpmbuild
    [mmdebstrap]=mmdebstrap [qemu-user-static]=qemu-aarch64-static
)

# is_here SIGN
is_here() {
    case $1 in
        /*) [[ -e $1 ]] ;;
        python:*) python3 -c 'import importlib.util, sys
sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "${1#python:}" ;;
        *.h | *.hpp) "${compiler[@]}" -E -x c++ - <<<"#if !__has_include(<$1>)
#error
#endif" ;;
        *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" ;;
    esac >/dev/null 2>&1
}

# look_for PACKAGE: adds it to missing or to unknown, unless it is here.
missing=() unknown=()
look_for() {
    local sign found=${signs[$1]:-}
    if [[ -z $found ]] || [[ $found == *.h* && ${#compiler[@]} -eq 0 ]]; then
        unknown+=("$1")
        return 0
    fi
    for sign in $found; do
        if is_here "$sign"; then return 0; fi
    done
    found=${found// / or }
    missing+=("${found/#python:/"Python's "} ($1)")
}

# join WORD...: with commas.
join() {
    local all
    all=$(printf '%s, ' "$@")
    echo "${all%, }"
}

name_what_is_missing() {
    local name
    read -r -a compiler <<<"${CXX:-$(command -v c++ g++ clang++ | head -n 1)}"
    command -v "${compiler[@]:0:1}" >/dev/null || compiler=()
    while read -r name; do look_for "$name"; done < <(printf '%s\n' "${wanted[@]}" | sort -u)
    [[ ${#missing[@]} -gt 0 || ${#unknown[@]} -gt 0 ]] || return 0
    echo "packages: there is no apt here, so nothing is installed; in parentheses are the names" \
        "of Debian's packages"
    [[ ${#missing[@]} -eq 0 ]] || echo "packages: not found: $(join "${missing[@]}")"
    [[ ${#unknown[@]} -eq 0 ]] || echo "packages: not looked for: $(join "${unknown[@]}")"
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    name_what_is_missing >&2
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
