# Shell functions for bench/run.sh: how long a job pauses when a worker fails. First for
# workers that do nothing (bench/stamp.cpp): from the last act of the failing worker to the
# first act of the last of the new workers. Then for training: from kill -9 of a worker to
# the output line of the first step after it.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

bench_restart() {
    local n round column columns=(ddprun)
    [[ ${#torchrun[@]} -eq 0 ]] || columns+=(torchrun)
    for n in 1 2 16; do
        for ((round = 1; round <= $(rounds 15); ++round)); do
            restart_round "$n" "$round" "${columns[@]}"
        done
    done
    for ((round = 1; round <= $(rounds 10); ++round)); do
        for column in $(in_turn "$round" "${columns[@]}"); do
            train_once "$round" "$column"
        done
    done
}

# train_once ROUND COLUMN
train_once() {
    local round=$1 column=$2
    local options=(--standalone --nproc_per_node=2 --max_restarts=1)
    # Without this variable torchrun 2.15 gives the next generation a store that still has the
    # addresses of the last one, and its workers may fail to connect to them.
    local tuned=(env TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 "${torchrun[@]}" --monitor_interval=0.1)
    case $column in
        ddprun)
            first_step "$round" ddprun "$ddprun" "${options[@]}" "$programs/toy" 1000000 1000000
            ;;
        torchrun)
            first_step "$round" torchrun "${tuned[@]}" "${options[@]}" \
                "$PWD/examples/toy/toy.py" 1000000 1000000
            ;;
    esac
}

# restart_round N ROUND COLUMN...: all launchers. The worker fails at a random moment, independent
# of torchrun's checks every 0.1 s.
restart_round() {
    local n=$1 round=$2 column delay_ms=$((200 + RANDOM % 200))
    shift 2
    for column in $(in_turn "$round" "$@"); do
        case $column in
            ddprun) restart_once "$n" "$round" ddprun "$delay_ms" "$ddprun" ;;
            torchrun)
                restart_once "$n" "$round" torchrun "$delay_ms" "${torchrun[@]}" \
                    --monitor_interval=0.1
                ;;
        esac
    done
}

# restart_once N ROUND COLUMN DELAY_MS LAUNCHER...
restart_once() {
    local n=$1 round=$2 column=$3 delay_ms=$4 stamps=$work/stamps
    shift 4
    rm -f "$stamps"
    stopwatch "$@" --standalone --nproc_per_node="$n" --max_restarts=1 --no_python \
        "$programs/stamp" "$stamps" "$delay_ms"
    row "restart_$n" "$round" "$column" "$(awk -v n="$n" '
        $1 == "exit" { exit_ns = $4 }
        $1 == "start" && $2 == 1 { count++; if ($4 > start_ns) start_ns = $4 }
        END { if (count != n) exit 1; printf "%.9f", (start_ns - exit_ns) * 1e-9 }' "$stamps")"
}

# The process of rank $1 among the descendants of process $2.
worker_of_rank() {
    local child
    # shellcheck disable=SC2013 # words, not lines
    for child in $(cat "/proc/$2/task/"*/children 2>/dev/null); do
        if tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -x "RANK=$1" >/dev/null; then
            echo "$child"
            return 0
        fi
        worker_of_rank "$1" "$child" && return 0
    done
    return 1
}

# first_step ROUND COLUMN LAUNCHER... PROGRAM...: two ranks with one step in each epoch, so that the
# line that toy prints for an epoch marks a step. Rank 1 is killed once it trains. In a folder of
# its own: at its end a job may save, and the next would go on from that.
first_step() {
    local round=$1 column=$2 job line victim='' killed took=''
    shift 2
    rm -rf "$work/training"
    mkdir "$work/training"
    mkfifo "$work/lines"
    (cd "$work/training" && exec timeout 120 "$@" --batch-size 1024) \
        >"$work/lines" 2>"$work/errors" </dev/null &
    job=$!
    while [[ -z $took ]] && IFS= read -r line; do
        if [[ -z $victim && $line == *"rank 1] Epoch 20 "* ]]; then
            victim=$(worker_of_rank 1 "$job")
            killed=$EPOCHREALTIME
            kill -KILL "$victim"
        elif [[ -n $victim && $line == *"] Epoch 0 "* ]]; then
            took=$(awk -v a="$killed" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.6f", b - a }')
        fi
    done <"$work/lines"
    kill -TERM "$job" 2>/dev/null || true
    wait "$job" || true
    rm -f "$work/lines"
    [[ -n $took ]] || { cat "$work/errors" >&2; echo "bench: $column: no step" >&2; exit 1; }
    row "first_step" "$round" "$column" "$took"
}
