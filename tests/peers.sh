#!/usr/bin/env bash
# Several versions of PyTorch against one `ddprun store`: every call of each version's store, a job
# of two ranks with a process group and DDP, and two versions at once. Not part of tests/run.sh.
#   tests/peers.sh                        1.13.1, 2.1.2, 2.7.1 and 2.15.0 from PyPI
#   tests/peers.sh 2.7.1 2.15.0           these
#   tests/peers.sh --python 2.15.0=PATH   this interpreter for that version; may be repeated
# What comes from PyPI goes into environments that are thrown away, 2 to 6 GiB each. DDPRUN names
# the program, build/release/bin/ddprun unless given.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/parts.sh
source .ci/parts.sh

ddprun=${DDPRUN:-build/release/bin/ddprun}
folder=$(mktemp -d)
declare -A pythons=()
stores=()
trap 'end_stores; rm -rf "$folder" "$results"' EXIT

versions=()
while (($#)); do
    case $1 in
        --python) pythons[${2%%=*}]=${2#*=}; shift 2 ;;
        -*) echo "usage: tests/peers.sh [--python VERSION=PATH]... [VERSION...]" >&2; exit 2 ;;
        *) versions+=("$1"); shift ;;
    esac
done
[[ ${#versions[@]} -gt 0 ]] || versions=(1.13.1 2.1.2 2.7.1 2.15.0)

# start_store NAME [OPTIONS...]: its port is in the file NAME.
start_store() {
    local name=$1
    shift
    "$ddprun" store --port-file "$folder/$name" "$@" &
    stores+=($!)
    until [[ -s $folder/$name ]]; do
        kill -0 "${stores[-1]}"
        sleep 0.1
    done
}

end_stores() {
    local pid
    for pid in "${stores[@]}"; do
        kill -TERM "$pid"
        wait "$pid" || record failed "a store's end" "status $?"
    done
    stores=()
}

# get_python VERSION: into pythons, unless it is there.
get_python() {
    local environment=$folder/$1
    [[ -z ${pythons[$1]:-} ]] || return 0
    /usr/bin/python3 -m venv "$environment" &&
        "$environment/bin/pip" install --quiet --no-cache-dir "torch==$1" 'numpy<2' || return 1
    pythons[$1]=$environment/bin/python
}

# port_for VERSION: 2.1 cannot be told from older ones in time, so that it has a store of its own.
port_for() {
    if [[ $1 == 2.1.* ]]; then cat "$folder/store_2.1"; else cat "$folder/store"; fi
}

# client VERSION PORT WORDS...
client() { timeout 180 "${pythons[$1]}" tests/peers.py "${@:2}"; }

# all_of COMMAND...: waits for the processes of this shell that run beside; 1 if one has failed.
all_of() {
    local pid status=0
    for pid in "$@"; do wait "$pid" || status=1; done
    return "$status"
}

# run_job VERSION PORT NAME: two ranks.
run_job() {
    client "$1" "$2" job "$3" 0 &
    local first=$!
    client "$1" "$2" job "$3" 1 &
    all_of "$first" $!
}

test_alone() {
    client "$1" "$(port_for "$1")" calls && run_job "$1" "$(port_for "$1")" "alone $1"
}

# test_together ONE OTHER PORT: both see one key space, while each runs a job of its own.
test_together() {
    local pids=()
    client "$1" "$3" meet "$1" "$2" & pids+=($!)
    client "$2" "$3" meet "$2" "$1" & pids+=($!)
    run_job "$1" "$3" "$1 beside $2" & pids+=($!)
    run_job "$2" "$3" "$2 beside $1" & pids+=($!)
    all_of "${pids[@]}"
}

# try NAME COMMAND...: a part that is one test.
try() {
    if part "$1" 300 "${@:2}"; then record passed "$1"; fi
}

start_store store
start_store store_2.1 --store-dialect 2.1
known=()
for version in "${versions[@]}"; do
    if get_python "$version"; then
        known+=("$version")
        try "torch $version alone" test_alone "$version"
    else
        record skipped "torch $version" "it cannot be had from PyPI here"
    fi
done
for one in "${known[@]}"; do
    for other in "${known[@]}"; do
        case "$one $other" in
            1.13.*\ 2.7.* | 1.13.*\ 2.15.* | 2.1.*\ 2.15.*)
                try "torch $one and $other at once" test_together "$one" "$other" \
                    "$(port_for "$one")" ;;
        esac
    done
done
end_stores
summary
