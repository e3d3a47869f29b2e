# Shell functions for bench/run.sh: how long N workers that do nothing take from the launcher's
# start to its end, and how much memory the launcher needs. The floor is a shell that starts N.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

bench_launch() {
    launch_workers 2 "$(rounds 50)" 5
    launch_workers 64 "$(rounds 50)" 10
}

# launch_workers N ROUNDS EVERY: torchrun takes part in one of EVERY rounds, since it takes seconds.
launch_workers() {
    local n=$1 rounds=$2 every=$3 round options
    options=(--standalone --nproc_per_node="$n" --no_python)
    # shellcheck disable=SC2016 # that shell expands it
    local start_all='i=0; while [ $i -lt '$n' ]; do /bin/true & i=$((i + 1)); done; wait'
    for ((round = 0; round <= rounds; ++round)); do  # round 0 only warms caches up
        launch_once "$round" ddprun "$n" "$ddprun" "${options[@]}" /bin/true
        launch_once "$round" sh "$n" sh -c "$start_all"
        if [[ ${#torchrun[@]} -gt 0 ]] && ((round == 0 || (round - 1) % every == 0)); then
            launch_once "$round" torchrun "$n" "${torchrun[@]}" "${options[@]}" /bin/true
        fi
    done
}

# launch_once ROUND COLUMN N COMMAND...
launch_once() {
    local round=$1 column=$2 n=$3
    shift 3
    stopwatch "$@"
    [[ $round -gt 0 ]] || return 0
    row "launch_$n" "$round" "$column" "$wall_s"
    row "launch_memory_$n" "$round" "$column" "$rss_kib"
}
