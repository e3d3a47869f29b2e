# Shell functions for bench/run.sh: how fast the output of one worker (bench/lines.cpp) passes
# through the launcher, into a file alone, and into a file and a pipe that cat reads. The time of a
# run without output is subtracted, since torchrun takes seconds to start. Files are in memory.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

bench_output() {
    local way round column columns=(ddprun cat) logs=/dev/shm/ddprun-bench
    [[ ${#torchrun[@]} -eq 0 ]] || columns+=(torchrun)
    for way in redirects tee; do
        for ((round = 1; round <= $(rounds 7); ++round)); do
            for column in $(in_turn "$round" "${columns[@]}"); do
                output_rate "$way" "$round" "$column"
            done
        done
    done
    rm -rf "$logs"
}

# output_rate WAY ROUND COLUMN: in MB/s. torchrun's --tee would take half a minute for a GB.
output_rate() {
    local way=$1 round=$2 column=$3 megabytes=1000 without_s
    [[ $column-$way != torchrun-tee ]] || megabytes=200
    output_once "$way" "$column" 0
    without_s=$wall_s
    output_once "$way" "$column" "$megabytes"
    row "output_$way" "$round" "$column" "$(awk -v mb="$megabytes" -v a="$without_s" \
        -v b="$wall_s" 'BEGIN { printf "%.1f", mb / (b - a) }')"
}

# output_once WAY COLUMN MEGABYTES: with the caller's `logs`.
# shellcheck disable=SC2016 # shells that it starts expand it
output_once() {
    local way=$1 column=$2 run=("$programs/lines" "$3") pipeline=(bash -o pipefail -c)
    local options=(--standalone --nproc_per_node=1 --no_python --log_dir="$logs" "--$way=3")
    rm -rf "$logs"
    mkdir "$logs"
    case $column-$way in
        ddprun-*) run=("$ddprun" "${options[@]}" "${run[@]}") ;;
        torchrun-*) run=("${torchrun[@]}" "${options[@]}" "${run[@]}") ;;
        cat-redirects) run=("${pipeline[@]}" '"$@" | cat >"$0"' "$logs/out" "${run[@]}") ;;
        cat-tee) run=("${pipeline[@]}" '"$@" | tee "$0"' "$logs/out" "${run[@]}") ;;
    esac
    [[ $way == redirects ]] || run=("${pipeline[@]}" '"$@" | cat >/dev/null' bash "${run[@]}")
    stopwatch "${run[@]}"
}
