# Shell functions for packaging/build.sh: what is fetched, each file checked by its sum.
# shellcheck shell=bash
set -e

# fetch_compiler FOLDER: the wheels of compiler.txt, from PyPI.
fetch_compiler() {
    [[ -e $1/ziglang/zig ]] && return 0
    rm -rf "$1"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes -r packaging/compiler.txt --target "$1.part"
    mv "$1.part" "$1"
}

# fetch_sources FOLDER: the files of sources.sha256, from Debian. What Debian's revisions of a
# package add to them is not used, so any revision will do.
fetch_sources() {
    local sums=$PWD/packaging/sources.sha256 packages
    mkdir -p "$1"
    (
        cd "$1"
        if ! sha256sum --check --status "$sums" 2>/dev/null; then
            mapfile -t packages < <(awk '{ sub("_.*", "", $2); print $2 }' "$sums")
            apt_get_source "${packages[@]}"
            sha256sum --check --quiet "$sums"
        fi
    )
}

# debian_mirror: prints DDPRUN_DEBIAN_MIRROR, or else where this machine's apt gets Debian 12 from.
debian_mirror() {
    local mirrors=${DDPRUN_DEBIAN_MIRROR:-}
    [[ -n $mirrors ]] || mirrors=$(apt-get update --print-uris 2>/dev/null |
        sed -n "s,^'\(.*\)/dists/bookworm/InRelease' .*,\1,p")
    if [[ -z $mirrors ]]; then
        echo "build.sh: apt has no source of Debian 12 (bookworm), whose sources of libraries" \
            "are needed; set DDPRUN_DEBIAN_MIRROR to the address of a mirror" >&2
        return 1
    fi
    echo "${mirrors%%$'\n'*}"
}

# apt_get_source PACKAGE...: into this folder. The machine's own lists of apt stay as they are. No
# keyring is needed, since fetch_sources knows each file that it uses by its sum.
apt_get_source() {
    local apt=$PWD/apt mirror
    mirror=$(debian_mirror)
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    echo "deb-src [trusted=yes] $mirror bookworm main" >"$apt/sources.list"
    local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list"
        -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
        -o "APT::Sandbox::User=$(id -un)" -o Acquire::Languages=none)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" source --download-only "$@"
    rm -rf "$apt"
}

# unpack_sources FROM TO: TO/NAME for each; of Boost the headers and what is compiled.
unpack_sources() {
    local file name
    [[ -e $2/unpacked && ! packaging/sources.sha256 -nt $2/unpacked ]] && return 0
    rm -rf "$2"
    while read -r _ file; do
        name=${file%%_*}
        mkdir -p "$2/$name"
        if [[ $name == boost* ]]; then
            mv "$2/$name" "$2/boost"
            tar -xf "$1/$file" -C "$2/boost" --strip-components=1 --wildcards \
                --transform='s,^boost/libs/\([^/]*/\)\{1\,2\}include/,boost/include/,' \
                'boost/libs/*/include/boost/*' 'boost/libs/program_options/src/*' \
                '*/LICENSE_1_0.txt'
        else
            tar -xf "$1/$file" -C "$2/$name" --strip-components=1
        fi
    done <packaging/sources.sha256
    : >"$2/unpacked"
}
