# Shell functions for bench/run.sh: what the launcher costs while 8 workers sleep. How often its
# processes run, by their context switches in 10 s, and the resident memory of the largest one.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

bench_idle() {
    local round column columns=(ddprun)
    [[ ${#torchrun[@]} -eq 0 ]] || columns+=(torchrun)
    for ((round = 1; round <= $(rounds 3); ++round)); do
        for column in $(in_turn "$round" "${columns[@]}"); do
            idle_once "$round" "$column"
        done
    done
}

children_of() { cat "/proc/$1/task/"*/children 2>/dev/null || true; }

# Process $1 and those below it that run the same program.
launcher_processes() {
    local child
    echo "$1"
    # shellcheck disable=SC2013 # words, not lines
    for child in $(children_of "$1"); do
        [[ $(readlink "/proc/$child/exe") != "$(readlink "/proc/$1/exe")" ]] ||
            launcher_processes "$child"
    done
}

# How many `sleep` run below the processes that are named.
sleeping_below() {
    local process child count=0
    for process in "$@"; do
        # shellcheck disable=SC2013 # words, not lines
        for child in $(children_of "$process"); do
            [[ $(cat "/proc/$child/comm" 2>/dev/null) != sleep ]] || ((++count))
        done
    done
    echo "$count"
}

# Context switches of all threads of the processes that are named.
switches() {
    local process
    for process in "$@"; do cat "/proc/$process/task/"*/status; done |
        awk '/ctxt_switches:/ { sum += $2 } END { print sum }'
}

# idle_once ROUND COLUMN
idle_once() {
    local round=$1 column=$2 n=8 seconds=10 job before after processes=() launcher=("$ddprun")
    [[ $column == ddprun ]] || launcher=("${torchrun[@]}")
    "${launcher[@]}" --standalone --nproc_per_node="$n" --no_python sleep 1000 \
        >"$work/output" 2>&1 </dev/null &
    job=$!
    until ((${#processes[@]} > 0)) && (($(sleeping_below "${processes[@]}") == n)); do
        kill -0 "$job" || { cat "$work/output" >&2; exit 1; }
        mapfile -t processes < <(launcher_processes "$job")
        sleep 0.1
    done
    sleep 3  # what belongs to the start is over
    before=$(switches "${processes[@]}")
    sleep "$seconds"
    after=$(switches "${processes[@]}")
    row idle_switches "$round" "$column" "$(awk -v n="$((after - before))" -v s="$seconds" \
        'BEGIN { printf "%.2f", n / s }')"
    row idle_memory "$round" "$column" "$(for process in "${processes[@]}"; do
        sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$process/status"
    done | sort -n | tail -n 1)"
    kill -TERM "$job"
    wait "$job" || true
}
