#!/usr/bin/env bash
# Tests what packaging/build.sh has made: what each program needs, and jobs by it from each package,
# which is installed in a folder that is thrown away. By hand, in a few minutes:
#   packaging/test.sh [PYTHON]      with PYTHON, which has torch, also a training by the wheel
# What it uses if it is there: rpm, mmdebstrap and root (for Debian 11), qemu-aarch64-static, all of
# which .ci/packages.sh packaging installs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=packaging/jobs.sh
source packaging/jobs.sh

shopt -s extglob
dist=$PWD/build/dist
python=${1:-}
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if ("$@") >"$work/log" 2>&1; then
        echo "passed: $name"
    else
        echo "FAILED: $name"
        sed 's/^/    /' "$work/log"
        failed=$((failed + 1))
    fi
}
skip() { echo "skipped: $1"; }
have() { command -v "$1" >/dev/null; }

# one GLOB: the file of that name, of which there must be one.
one() {
    local files
    mapfile -t files < <(compgen -G "$dist/$1")
    [[ ${#files[@]} -eq 1 ]] || {
        echo "test.sh: ${#files[@]} files $dist/$1; build one version by packaging/build.sh" >&2
        exit 1
    }
    echo "${files[0]}"
}

# What a program may need: glibc's libraries, and no symbol of a newer one than 2.28.
libraries() { readelf --dynamic "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort; }
newest_symbol() {
    readelf --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sort --version-sort | tail -n 1
}
needs_only_glibc() {
    ! libraries "$1" | grep -vxE 'lib(c|m|pthread|dl|rt|resolv|util)\.so\.[0-9]+|ld-linux.*'
}
symbols_are_old() {
    local newest
    newest=$(newest_symbol "$1")
    [[ $(printf '%s\nGLIBC_2.28\n' "$newest" | sort --version-sort | tail -n 1) == GLIBC_2.28 ]]
}
is_small() { [[ $(stat --format=%s "$1") -le $((4 * 1024 * 1024)) ]]; }

test_program() {
    local program=$dist/$1/ddprun
    echo "$1: $(stat --format=%s "$program") bytes, $(newest_symbol "$program")," \
        "$(libraries "$program" | paste -s -d ' ')"
    check "$1: it needs no library but glibc's" needs_only_glibc "$program"
    check "$1: it needs no symbol newer than GLIBC_2.28" symbols_are_old "$program"
    check "$1: it has at most 4 MiB" is_small "$program"
}

# has_pages PREFIX: each page of man/ is there with the same text, compressed or not, and no other.
has_pages() {
    local page wanted=() found
    for page in man/*.[1-9]; do
        wanted+=("$(basename "$page")")
        gzip --decompress --stdout --force \
            "$1/share/man/man${page##*.}/$(basename "$page")"?(.gz) | cmp "$page" - || return 1
    done
    found=$(find "$1/share/man" -name 'ddprun*' -printf '%f\n' | sed 's/\.gz$//' | sort)
    diff <(printf '%s\n' "${wanted[@]}" | sort) <(echo "$found")
}

test_tarball() {
    mkdir "$work/tarball"
    tar -xf "$(one "ddprun-*-linux-$machine.tar.gz")" -C "$work/tarball" --strip-components=1
    check "tarball: it has all manuals" has_pages "$work/tarball"
    check "tarball: it has the licences" ls "$work/tarball/share/doc/ddprun/licences/boost"
    check_jobs tarball "$work/tarball/bin/ddprun"
    check "tarball: libraries of others on LD_LIBRARY_PATH change nothing" \
        beside_conda "$work/tarball/bin/ddprun"
    rm -r "$work/tarball"
}

files_in() {
    find "$1" -xdev \( -path "$1/var" -o -path "$1/proc" -o -path "$1/dev" \) -prune -o -print |
        sort
}

# in_root ROOT COMMAND...: as on a machine of its own that shares the network.
in_root() {
    # shellcheck disable=SC2016  # the inner shell expands these
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$@"
}

# By dpkg of Debian 11, whose glibc is 2.31; mmdebstrap takes a minute or two the first time.
test_deb() {
    local clean=$dist/.cache/bullseye root=$work/bullseye deb
    deb=$(one "ddprun_*_amd64.deb")
    [[ $EUID -eq 0 ]] || { skip "deb: only root can be in another system"; return 0; }
    if [[ ! -d $clean ]]; then
        if ! have mmdebstrap; then
            skip "deb: there is no mmdebstrap to make Debian 11"
            return 0
        fi
        mmdebstrap --quiet --mode=root --variant=essential bullseye "$clean.part" \
            ${DDPRUN_DEBIAN_MIRROR:+"$DDPRUN_DEBIAN_MIRROR"}
        mv "$clean.part" "$clean"
    fi
    cp -a "$clean" "$root"
    files_in "$root" >"$work/before"
    install -m 644 "$deb" "$root/tmp/ddprun.deb"
    check "deb: dpkg of Debian 11 installs it" in_root "$root" dpkg --install /tmp/ddprun.deb
    check "deb: it has all manuals" has_pages "$root/usr"
    check_jobs deb in_root "$root" /usr/bin/ddprun
    check "deb: dpkg of Debian 11 removes it" in_root "$root" dpkg --purge ddprun
    rm "$root/tmp/ddprun.deb"
    files_in "$root" >"$work/after"
    check "deb: nothing of it is left" diff "$work/before" "$work/after"
    rm -r "$root"
}

# All that it asks for: glibc's libraries, and features of rpm itself.
rpm_needs_only_glibc() {
    rpm --query --package --requires "$1"
    ! rpm --query --package --requires "$1" |
        grep -vE '^(lib(c|m|pthread|dl|rt|resolv|util)\.so\.|ld-linux|rtld\(|rpmlib\()'
}

test_rpm() {
    local root=$work/rpm package
    have rpm || { skip "rpm: there is no rpm"; return 0; }
    package=$(one "ddprun-*.$machine.rpm")
    mkdir "$root"
    rpm --root "$root" --initdb
    check "rpm: it asks for glibc alone" rpm_needs_only_glibc "$package"
    check "rpm: it is installed" rpm --root "$root" --nodeps --install "$package"
    check "rpm: it has all manuals" has_pages "$root/usr"
    check_jobs rpm "$root/usr/bin/ddprun"
    check "rpm: it is removed" rpm --root "$root" --erase ddprun
    check "rpm: nothing of it is left" test -z "$(find "$root" -name '*ddprun*')"
    rm -r "$root"
}

test_wheel() {
    local venv=$work/venv wheel
    wheel=$(one "ddprun-*-manylinux_*_$machine.whl")
    python3 -m venv "$venv"
    check "wheel: pip installs it" "$venv/bin/pip" install --quiet --no-index "$wheel"
    check_jobs wheel "$venv/bin/ddprun"
    if [[ -n $python ]]; then
        check "wheel: it runs and restarts a training by $python" \
            "$venv/bin/ddprun" --nproc-per-node=2 --max-restarts=1 \
            "$python" tests/e2e/ddp_gloo.py restart
    else
        skip "wheel: a training needs a Python with torch as argument"
    fi
    check "wheel: pip removes it" "$venv/bin/pip" uninstall --quiet --yes ddprun
    check "wheel: nothing of it is left" test -z "$(find "$venv" -name '*ddprun*')"
    rm -r "$venv"
}

# The workers are this machine's programs: without binfmt_misc the emulator cannot start others.
test_aarch64() {
    local root=$work/aarch64
    have qemu-aarch64-static || { skip "aarch64: there is no qemu-aarch64-static"; return 0; }
    mkdir "$root"
    (cd "$root" && apt-get -qq -o APT::Sandbox::User=root download libc6-arm64-cross)
    dpkg --extract "$root"/*.deb "$root"
    check_jobs aarch64 qemu-aarch64-static -L "$root/usr/aarch64-linux-gnu" "$dist/aarch64/ddprun"
}

machine=$(uname -m)
[[ -e $dist/$machine/ddprun ]] || {
    echo "test.sh: there is no $dist/$machine/ddprun; run packaging/build.sh first" >&2
    exit 1
}
test_program "$machine"
test_tarball
[[ $machine != x86_64 ]] || test_deb
test_rpm
test_wheel
if [[ $machine != aarch64 ]]; then
    if [[ -e $dist/aarch64/ddprun ]]; then
        test_program aarch64
        test_aarch64
    else
        skip "aarch64: it was not built"
    fi
fi
[[ $failed -eq 0 ]] || { echo "test.sh: $failed checks failed" >&2; exit 1; }
