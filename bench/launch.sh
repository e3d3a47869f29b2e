# Shell functions for bench/run.sh: how long N workers that do nothing take from the launcher's
# start to its end, and how much memory the launcher needs. The floor is a shell that starts N.
# BENCH_PROGRAMS names further programs of ddprun as peers: NAME=PATH, between spaces.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

declare -A other_programs=()

bench_launch() {
    local each
    for each in ${BENCH_PROGRAMS:-}; do other_programs[${each%%=*}]=${each#*=}; done
    launch_workers 2 "$(rounds 50)" 5
    launch_workers 64 "$(rounds 50)" 10
}

# launch_workers N ROUNDS EVERY: torchrun takes part in one of EVERY rounds, since it takes seconds.
launch_workers() {
    local n=$1 rounds=$2 every=$3 round columns column
    for ((round = 0; round <= rounds; ++round)); do  # round 0 only warms caches up
        columns=(ddprun sh "${!other_programs[@]}")
        if [[ ${#torchrun[@]} -gt 0 ]] && ((round == 0 || (round - 1) % every == 0)); then
            columns+=(torchrun)
        fi
        for column in $(in_turn "$round" "${columns[@]}"); do
            launch_once "$n" "$round" "$column"
        done
    done
}

# launch_once N ROUND COLUMN
launch_once() {
    local n=$1 round=$2 column=$3
    # shellcheck disable=SC2016 # that shell expands it
    local start_all='i=0; while [ $i -lt '$n' ]; do /bin/true & i=$((i + 1)); done; wait'
    local options=(--standalone --nproc_per_node="$n" --no_python)
    case $column in
        ddprun) stopwatch "$ddprun" "${options[@]}" /bin/true ;;
        sh) stopwatch sh -c "$start_all" ;;
        torchrun) stopwatch "${torchrun[@]}" "${options[@]}" /bin/true ;;
        *) stopwatch "${other_programs[$column]}" "${options[@]}" /bin/true ;;
    esac
    [[ $round -gt 0 ]] || return 0
    row "launch_$n" "$round" "$column" "$wall_s"
    row "launch_memory_$n" "$round" "$column" "$rss_kib"
}
