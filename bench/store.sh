# Shell functions for bench/run.sh: ddprun's store and PyTorch's own, under the same load. Both run
# side by side, and only one of them is used at a time.
# shellcheck shell=bash source=bench/common.sh disable=SC2154 # what that one sets
source bench/common.sh

store_limit_s=60  # for one pattern
declare -A store_pids store_ports  # of the servers of this round, by column

bench_store() {
    local round columns=(ddprun)
    [[ $(ulimit -n) -ge 10000 ]] || ulimit -n 10000 ||
        { echo "bench: ulimit -n is too low for 4,096 connections to each store" >&2; exit 1; }
    if [[ -n $python && -n $torch_prefix ]]; then columns+=(libuv); fi
    trap 'end_stores' EXIT
    for ((round = 1; round <= $(rounds 9); ++round)); do
        start_stores "${columns[@]}"
        store_round "$round" "${columns[@]}"
        end_stores
    done
    trap - EXIT
}

store_round() {
    local round=$1 count
    shift
    both_stores "$round" "$*" store_idle idle 4096  # first: later, memory is there that was freed
    for count in 1 16 64 256 1024; do
        both_stores "$round" "$*" "store_closed_$count" closed "$count"
    done
    both_stores "$round" "$*" store_set set
    both_stores "$round" "$*" store_add add
    for count in 64 256 1024; do
        both_stores "$round" "$*" "store_rendezvous_$count" rendezvous "$count"
    done
    both_stores "$round" "$*" store_storm storm 4096
    both_stores "$round" "$*" store_value_4 value $((4 << 20))
    both_stores "$round" ddprun store_value_16 value $((16 << 20))  # libuv's takes 8 MiB at most
}

# both_stores ROUND COLUMNS FIGURE PATTERN...: a row for each figure of the pattern.
both_stores() {
    local round=$1 figure=$3 column name value columns
    read -ra columns <<<"$2"
    shift 3
    for column in $(in_turn "$round" "${columns[@]}"); do
        load_store "$column" "$@" >"$work/load" ||
            { echo "bench: $column's store: pattern $*: status $?" >&2; exit 1; }
        while read -r name value; do row "${figure}_$name" "$round" "$column" "$value"; done \
            <"$work/load"
    done
}

# load_store COLUMN PATTERN...: on the first core, where there are two; the stores have the second.
load_store() {
    local pin=(taskset -c 0) column=$1
    [[ $(nproc) -ge 2 ]] || pin=()
    shift
    timeout "$store_limit_s" "${pin[@]}" "$programs/store_load" \
        "${store_ports[$column]}" "${store_pids[$column]}" "$@"
}

# start_stores COLUMN...: sets store_pids and store_ports.
start_stores() {
    local column
    rm -f "$work"/port.*
    [[ -p $work/held ]] || mkfifo "$work/held"
    exec 8<>"$work/held"  # PyTorch's store ends with it
    for column in "$@"; do
        "start_$column" >"$work/errors.$column" 2>&1 &
        store_pids[$column]=$!
    done
    for column in "$@"; do
        until [[ -s $work/port.$column ]]; do
            kill -0 "${store_pids[$column]}" 2>/dev/null ||
                { cat "$work/errors.$column" >&2; exit 1; }
            sleep 0.05
        done
        store_ports[$column]=$(cat "$work/port.$column")
    done
}

# In place of this process.
start_ddprun() {
    pin_self 1
    exec "$ddprun" store --port-file "$work/port.ddprun"
}

# libuv's server looks up the name of each client. `attempts:0` keeps it from asking the network,
# which takes up to seconds for each connection.
start_libuv() {
    pin_self 1
    export RES_OPTIONS=attempts:0 TORCH_CPP_LOG_LEVEL=ERROR
    exec "$python" bench/store/tcp_store.py "$work/port.libuv" <&8
}

pin_self() { [[ $(nproc) -lt 2 ]] || taskset -cp "$1" "$BASHPID" >"$work/taskset"; }

end_stores() {
    local column
    for column in "${!store_pids[@]}"; do
        kill -TERM "${store_pids[$column]}" 2>/dev/null || true
        wait "${store_pids[$column]}" 2>/dev/null || true
    done
    store_pids=()
    exec 8>&-
}
