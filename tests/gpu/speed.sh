# Shell functions for tests/gpu.sh: times beside torchrun on the same GPUs. They are no tests.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

test_speed() {
    local round rounds=${GPU_ROUNDS:-5}
    expect "a job of \`true\` is measured" measure_launch "$rounds"
    for ((round = 1; round <= rounds; ++round)); do
        expect "training is measured, round $round" measure_training || break
    done
    for ((round = 1; round <= rounds; ++round)); do
        expect "a kill is measured, round $round" measure_kill || break
    done
    ratio "s from start to end of \`true\`" launch
    ratio "s from start to end of fashion_mnist" wall
    ratio "img/s of fashion_mnist" rate
    ratio "s from kill -9 of a worker to a step of the next generation" kill
}

# timed FIGURE COMMAND...: appends the seconds that it takes to the file of that figure.
timed() {
    local figure=$1 start=$EPOCHREALTIME
    shift
    "$@" || return 1
    awk "BEGIN { print $EPOCHREALTIME - $start }" >>"$logs/$figure"
}

torchrun_job() {
    local name=$1
    shift
    run_in "$name" python3 -m torch.distributed.run --standalone --nproc-per-node="$gpus" "$@"
}

measure_launch() {
    local round
    for ((round = 1; round <= $1; ++round)); do
        timed launch.ddprun run_job launch_ddprun --nproc-per-node="$gpus" --no-python true &&
            timed launch.torchrun torchrun_job launch_torchrun --no-python true || return 1
    done
}

# The first report of a job is left out, in which CUDA's libraries load their kernels.
measure_training() {
    local name options=(--data "$data" --train-images 19200)
    timed wall.ddprun run_job train_ddprun --nproc-per-node="$gpus" --snapshot snapshot.pt \
        "$folder/bin/fashion_mnist" "${options[@]}" || return 1
    timed wall.torchrun torchrun_job train_torchrun "$PWD/bench/fashion_mnist.py" \
        "${options[@]}" || return 1
    for name in ddprun torchrun; do
        rm -f "$work/train_$name/snapshot.pt"*
        sed -n 's/.* \([0-9]*\) img\/s$/\1/p' "$logs/train_$name.log" | sed 1d | median \
            >>"$logs/rate.$name"
    done
}

# Both launchers start the same Python. Without the variable torchrun gives the next generation a
# store that has the addresses of the last one.
measure_kill() {
    local options=(--standalone --nproc-per-node="$gpus" --max-restarts=1)
    kill_once ddprun "$ddprun" "${options[@]}" &&
        kill_once torchrun env TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 \
            python3 -m torch.distributed.run --monitor-interval=0.1 "${options[@]}"
}

# kill_once COLUMN LAUNCHER...: kills rank 0 once all ranks train.
kill_once() {
    local column=$1 name=kill_$1 killed status=0
    shift
    # $BASHPID: torchrun makes $ of $$.
    # shellcheck disable=SC2016 # the workers' shell expands it
    start_in "$name" "$@" --no-python bash -c 'echo $BASHPID >pid.$TORCHELASTIC_RESTART_COUNT.$RANK
        exec "$@"' bash python3 "$worker" fit 100000000
    within 60 steps_are "$name" "$gpus" || status=1
    killed=$EPOCHREALTIME
    kill -KILL "$(<"$work/$name/pid.0.0")" || status=1
    if within 60 steps_are "$name" $((gpus + 1)); then
        awk "BEGIN { print $EPOCHREALTIME - $killed }" >>"$logs/kill.$column"
    else
        status=1
    fi
    interrupt
    ended || status=1
    return "$status"
}

# steps_are NAME COUNT: so many workers of the job have made their first steps.
steps_are() { (($(grep -c 'step 3$' "$logs/$1.log") >= $2)); }

# The middle of the numbers on stdin.
median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# ratio TITLE FIGURE: the medians of both, and ddprun's by torchrun's.
ratio() {
    local ours theirs
    [[ -s $logs/$2.ddprun && -s $logs/$2.torchrun ]] || return 0
    ours=$(median <"$logs/$2.ddprun")
    theirs=$(median <"$logs/$2.torchrun")
    fact "$1, medians of $(wc -l <"$logs/$2.torchrun"): ddprun $ours, torchrun $theirs," \
        "ratio $(awk "BEGIN { print $ours / $theirs }")"
}
