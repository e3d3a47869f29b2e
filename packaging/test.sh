#!/usr/bin/env bash
# Tests what packaging/build.sh has made: what each program needs, what each package holds, and jobs
# by each package, which is installed in a folder that is thrown away. By hand, in a few minutes:
#   packaging/test.sh [PYTHON]      with PYTHON, which has torch, also a training by the wheel
# What it uses if it is there: rpm, mmdebstrap and root (for Debian 11), qemu-aarch64-static, all of
# which .ci/packages.sh packaging installs. Without one of them a test is skipped, or fails where
# root may make namespaces, as in CI.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=packaging/jobs.sh
source packaging/jobs.sh

shopt -s extglob
dist=$PWD/build/dist
python=${1:-}
version=$(sed -n 's/^project(ddprun VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
bytes_max=4000000
# What is in the program, by the names that its licences have in the packages.
parts=(boost ddprun fmt glibc-start-files libcxx libcxxabi libsodium libunwind nlohmann-json
    yaml-cpp zig)
work=$(mktemp -d)
passed=0 failed=0 skipped=0
trap 'rm -rf "$work"' EXIT

have() { command -v "$1" >/dev/null; }
pass() { echo "passed: $1"; passed=$((passed + 1)); }
fail() { echo "FAILED: $1"; failed=$((failed + 1)); }
skip() { echo "skipped: $1"; skipped=$((skipped + 1)); }

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if ("$@") >"$work/log" 2>&1; then
        pass "$name"
    else
        fail "$name"
        sed 's/^/    /' "$work/log"
    fi
}

# lack WHAT REMEDY: a test is skipped for want of what CI has.
lack() {
    if [[ $EUID -eq 0 ]] && unshare --mount --pid --fork true 2>/dev/null; then
        fail "$1; $2"
    else
        skip "$1; $2"
    fi
}
install_set="run .ci/packages.sh packaging"

# refuses WORDS COMMAND...: it fails, and says these words.
refuses() {
    local words=$1
    shift
    if "$@" >"$work/refusal" 2>&1; then
        echo "this command did not fail: $*"
        return 1
    fi
    cat "$work/refusal"
    grep -F "$words" "$work/refusal" >/dev/null
}

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

# What a program may need: glibc's libraries, and no symbol of a newer one than 2.28. Versions such
# as GLIBC_PRIVATE and GLIBC_ABI_DT_RELR are sorted behind those that are numbers, as newer ones.
libraries() { readelf --dynamic "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort; }
newest_symbol() {
    readelf --version-info "$1" | grep -oE 'GLIBC_[A-Za-z0-9_.]+' | sort --version-sort |
        tail -n 1
}
glibc_libraries='lib(c|m|pthread|dl|rt|resolv|util)\.so\.'
needs_only_glibc() {
    local needed
    needed=$(libraries "$1") || return 1
    echo "it needs: $needed"
    grep -xF libc.so.6 <<<"$needed" &&
        ! grep -vxE "${glibc_libraries}[0-9]+|ld-linux.*" <<<"$needed"
}
symbols_are_old() {
    local newest
    newest=$(newest_symbol "$1") || return 1
    echo "the newest: $newest"
    [[ $newest == GLIBC_* ]] &&
        [[ $(printf '%s\nGLIBC_2.28\n' "$newest" | sort --version-sort | tail -n 1) == GLIBC_2.28 ]]
}
is_small() { [[ $(stat --format=%s "$1") -le $bytes_max ]]; }

test_program() {
    local program=$dist/$1/ddprun
    echo "$1: $(stat --format=%s "$program") bytes, $(newest_symbol "$program")," \
        "$(libraries "$program" | paste -s -d ' ')"
    check "$1: it needs libc.so.6, and no library but glibc's" needs_only_glibc "$program"
    check "$1: it needs no symbol newer than GLIBC_2.28" symbols_are_old "$program"
    check "$1: it has at most $bytes_max bytes" is_small "$program"
}

# linked MACHINE: the archives in its program that are not built of this source.
linked() {
    sed -n '/^build bin\/ddprun:/,/^$/s/^ *LINK_LIBRARIES = //p' \
        "$dist/.cache/$1/ddprun/build.ninja" | tr -s ' ' '\n' |
        grep -vE '^(launcher|rendezvous)/' | sed 's,.*/lib\(.*\)\.a$,\1,'
}

# names_what_is_linked MACHINE: `parts` has each archive by the name of its licence.
names_what_is_linked() {
    local archives archive part
    local -A part_of=([program_options]=boost [sodium]=libsodium)
    archives=$(linked "$1") || return 1
    for archive in $archives; do
        part=${part_of[$archive]:-$archive}
        [[ " ${parts[*]} " == *" $part "* ]] ||
            { echo "$archive is linked, and the packages have no licence of it"; return 1; }
    done
}

# has_licences FOLDER: one of each part, which is not empty, and no other.
has_licences() {
    local name
    for name in "${parts[@]}"; do
        [[ -s $1/$name ]] || { echo "there is no licence of $name"; return 1; }
    done
    diff <(printf '%s\n' "${parts[@]}" | sort) <(find "$1" -mindepth 1 -printf '%P\n' | sort)
}

# unpack PACKAGE FOLDER
unpack() {
    mkdir -p "$2"
    case $1 in
        *.tar.gz) tar -xf "$1" -C "$2" ;;
        *.deb) dpkg-deb --extract "$1" "$2" ;;
        *.rpm) rpm2archive - <"$1" | tar -xz -C "$2" ;;
        *.whl) python3 -m zipfile --extract "$1" "$2" ;;
    esac
}

# holds_the_same MACHINE PACKAGE: the program, and the licences of `parts`.
holds_the_same() {
    local folder=$work/unpacked licences program
    rm -rf "$folder"
    unpack "$2" "$folder" || return 1
    program=$(find "$folder" -type f \( -path '*/bin/ddprun' -o -path '*/scripts/ddprun' \))
    licences=$(find "$folder" -type d -name 'licen[cs]es')
    cmp "$dist/$1/ddprun" "$program" && has_licences "$licences" || return 1
    [[ -d $work/licences ]] || cp -r "$licences" "$work/licences"
    diff -r "$work/licences" "$licences"
}

# test_packages MACHINE
test_packages() {
    local glob package debian=amd64
    [[ $1 != aarch64 ]] || debian=arm64
    check "$1: each library that is linked has a licence" names_what_is_linked "$1"
    for glob in "ddprun-*-linux-$1.tar.gz" "ddprun_*_$debian.deb" "ddprun-*.$1.rpm" \
        "ddprun-*-manylinux_*_$1.whl"; do
        package=$(one "$glob")
        if [[ $glob == *.rpm ]] && ! have rpm2archive; then
            lack "$1: there is no rpm2archive to unpack the .rpm" "$install_set"
        else
            check "$1: ${package##*/} has the program and the licences" \
                holds_the_same "$1" "$package"
        fi
    done
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

# has_examples PREFIX
has_examples() {
    diff -r configs "$1/share/doc/ddprun/configs" &&
        diff -r examples/slurm "$1/share/doc/ddprun/examples/slurm"
}

test_tarball() {
    mkdir "$work/tarball"
    tar -xf "$(one "ddprun-*-linux-$machine.tar.gz")" -C "$work/tarball" --strip-components=1
    check "tarball: it has all manuals" has_pages "$work/tarball"
    check "tarball: it has the job files and the batch scripts" has_examples "$work/tarball"
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
            lack "deb: there is no mmdebstrap to make Debian 11" "$install_set"
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
    local needed
    needed=$(rpm --query --package --requires "$1") || return 1
    echo "it asks for: $needed"
    grep '^libc\.so\.6' <<<"$needed" &&
        ! grep -vE "^($glibc_libraries|ld-linux|rtld\(|rpmlib\()" <<<"$needed"
}

test_rpm() {
    local root=$work/rpm package
    have rpm || { lack "rpm: there is no rpm" "$install_set"; return 0; }
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

# has_wheel_files WHEEL: the program, the licences and what describes them, and nothing else.
has_wheel_files() {
    local info=ddprun-$version.dist-info wanted
    wanted=$(printf '%s\n' "ddprun-$version.data/scripts/ddprun" "$info"/{METADATA,WHEEL,RECORD} \
        "${parts[@]/#/$info/licenses/}" | sort)
    diff <(echo "$wanted") <(python3 -c 'import sys, zipfile
print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep="\n")' "$1" | sort)
}

# pip_for GLIBC: lets pip choose from all packages here for a machine with that glibc.
pip_for() {
    "${pip[@]}" install --quiet --no-index --find-links "$dist" --only-binary=:all: \
        --platform "manylinux_$1_$machine" --target "$work/for_$1" ddprun
}

# pip_goes_by_machine: what it says of wheels that cannot run.
pip_goes_by_machine() {
    local other glibc
    for other in "$dist"/ddprun-*-manylinux_*.whl; do
        [[ $other != *"_$machine.whl" ]] || continue
        check "wheel: pip refuses the one for another machine" refuses \
            "is not a supported wheel on this platform" "${pip[@]}" install --no-index "$other"
    done
    for glibc in 2_17 2_27; do
        check "wheel: pip refuses it for glibc ${glibc/_/.}" refuses \
            "No matching distribution found for ddprun" pip_for "$glibc"
    done
    check "wheel: pip takes it for glibc 2.28" pip_for 2_28
}

test_wheel() {
    local venv=$work/venv wheel pip
    wheel=$(one "ddprun-*-manylinux_*_$machine.whl")
    pip=(env PYTHONDONTWRITEBYTECODE=1 "$venv/bin/pip" --disable-pip-version-check)
    check "wheel: it has these files and no other" has_wheel_files "$wheel"
    python3 -m venv "$venv"
    files_in "$venv" >"$work/before"
    pip_goes_by_machine
    check "wheel: pip installs it" "${pip[@]}" install --quiet --no-index "$wheel"
    check_jobs wheel "$venv/bin/ddprun"
    if [[ -n $python ]]; then
        check "wheel: it runs and restarts a training by $python" \
            "$venv/bin/ddprun" --nproc-per-node=2 --max-restarts=1 \
            "$python" tests/e2e/ddp_gloo.py restart
    else
        skip "wheel: a training needs a Python with torch as argument"
    fi
    check "wheel: pip removes it" "${pip[@]}" uninstall --quiet --yes ddprun
    files_in "$venv" >"$work/after"
    check "wheel: nothing of it is left" diff "$work/before" "$work/after"
    rm -r "$venv"
}

# The workers are this machine's programs: without binfmt_misc the emulator cannot start others.
test_aarch64() {
    local root=$work/aarch64
    have qemu-aarch64-static ||
        { lack "aarch64: there is no qemu-aarch64-static" "$install_set"; return 0; }
    mkdir "$root"
    (cd "$root" && apt-get -qq -o APT::Sandbox::User=root download libc6-arm64-cross)
    dpkg --extract "$root"/*.deb "$root"
    check_jobs aarch64 qemu-aarch64-static -L "$root/usr/aarch64-linux-gnu" "$dist/aarch64/ddprun"
}

have readelf || { echo "test.sh: readelf not found; install binutils" >&2; exit 1; }
machine=$(uname -m)
[[ -e $dist/$machine/ddprun ]] || {
    echo "test.sh: there is no $dist/$machine/ddprun; run packaging/build.sh first" >&2
    exit 1
}
test_program "$machine"
test_packages "$machine"
test_tarball
[[ $machine != x86_64 ]] || test_deb
test_rpm
test_wheel
if [[ $machine != aarch64 ]]; then
    if [[ -e $dist/aarch64/ddprun ]]; then
        test_program aarch64
        test_packages aarch64
        test_aarch64
    else
        lack "aarch64: it was not built" "run packaging/build.sh"
    fi
fi
echo "test.sh: $passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
