#!/usr/bin/env bash
# Tests that the same source gives the same bytes: builds it once more as packaging/build.sh has
# here, but in another folder, at another time, with another umask, time zone, locale and home, and
# compares the programs and packages. By hand; it takes as long as a first build does:
#   packaging/twice.sh                    for x86-64 and aarch64
#   packaging/twice.sh x86_64             for one of them
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# -gt 0 ]] || set -- x86_64 aarch64

# artefacts MACHINE: the files for it in build/dist.
artefacts() {
    local word=$1
    [[ $1 != x86_64 ]] || word='(x86_64|amd64)'
    [[ $1 != aarch64 ]] || word='(aarch64|arm64)'
    (cd build/dist && find . -maxdepth 2 -type f -not -path './.*/*' | grep -E "$word" | sort)
}

# copy_source TO: all that git knows here, changes that are not committed included.
copy_source() {
    git clone --quiet --shared --no-checkout . "$1"
    git -C "$1" reset --quiet
    git ls-files -z --cached --others --exclude-standard |
        tar --create --null --files-from=- --ignore-failed-read |
        tar --extract --touch --directory="$1"
}

# build_otherwise FOLDER MACHINE...: what is fetched is taken from here, since sums name it.
build_otherwise() {
    local folder=$1 cache=$1/build/dist/.cache
    shift
    mkdir -p "$cache" "$folder/build/home"
    cp -a build/dist/.cache/{compiler,sources} "$cache"
    (
        cd "$folder"
        umask 077
        HOME=$folder/build/home TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 packaging/build.sh "$@"
    )
}

# compare FOLDER MACHINE: says of each artefact whether FOLDER has the same; the program, tarball,
# .deb, .rpm and wheel must be there.
compare() {
    local files file status=0
    mapfile -t files < <(artefacts "$2")
    if [[ ${#files[@]} -ne 5 ]]; then
        echo "twice.sh: build/dist has for $2 not one program and four packages: ${files[*]}" >&2
        return 1
    fi
    for file in "${files[@]}"; do
        if cmp "build/dist/$file" "$1/build/dist/$file"; then
            echo "the same bytes: $file"
        else
            echo "OTHER BYTES: $file"
            status=1
        fi
    done
    return "$status"
}

packaging/build.sh "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/in_another_folder
copy_source "$folder"
build_otherwise "$folder" "$@"
status=0
for machine in "$@"; do
    compare "$folder" "$machine" || status=1
done
echo "twice.sh: $SECONDS s"
exit "$status"
