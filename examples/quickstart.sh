#!/usr/bin/env bash
# From a fresh clone to a trained network in one command: installs what is missing, compiles ddprun
# and the example, trains with two workers, and kills one of them half way to show the restart.
set -euo pipefail
cd "$(dirname "$0")/.."

run_folder=build/quickstart  # as in configs/fashion_mnist.yaml
snapshot=$run_folder/snapshot.pt
half=235  # of the 469 batches of 32 images that each of two workers has
accuracy=
victim=    # the pid of the worker that was killed
restarted=
job=

step() { printf '\n== %s\n' "$*"; }

# The children of process $1, on one line.
children() { cat "/proc/$1/task/"*/children 2>/dev/null || true; }

# The pid of the worker of rank $1. ddprun is two processes: the outer one guards the inner one,
# whose children are the workers.
worker_of_rank() {
    local agent worker
    for agent in $(children "$job"); do
        for worker in $(children "$agent"); do
            if tr '\0' '\n' <"/proc/$worker/environ" | grep -x "RANK=$1" >/dev/null; then
                echo "$worker"
                return
            fi
        done
    done
}

# Takes one line of the job's output: kills rank 1 once half of the epoch is over and saved.
watch_line() {
    if [[ $1 =~ batch\ ([0-9]+): && -z $victim && -e $snapshot ]] &&
        ((BASH_REMATCH[1] >= half)); then
        victim=$(worker_of_rank 1)
        [[ -n $victim ]] || return 0
        echo "== half way: kill -9 $victim, the worker of rank 1"
        kill -KILL "$victim"
    elif [[ $1 =~ test\ accuracy:\ (.*) ]]; then
        accuracy=${BASH_REMATCH[1]}
    elif [[ $1 == *"generation 2 (restart 1 of "* ]]; then
        restarted=yes
    fi
}

step "packages"
.ci/packages.sh build data

step "compiling ddprun and examples/fashion_mnist/fashion_mnist.cpp into build/release/bin"
cmake --preset release >/dev/null  # errors are on stderr
cmake --build --preset release -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
    --target ddprun fashion_mnist

step "training with two workers: build/release/bin/ddprun -f configs/fashion_mnist.yaml"
rm -rf "$run_folder"
mkdir -p "$run_folder"
mkfifo "$run_folder/output"
started=$SECONDS
build/release/bin/ddprun -f configs/fashion_mnist.yaml >"$run_folder/output" 2>&1 &
job=$!
trap 'kill -TERM "$job" 2>/dev/null || true' INT TERM
while IFS= read -r line; do
    printf '%s\n' "$line"
    watch_line "$line"
done <"$run_folder/output"
status=0
wait "$job" || status=$?
rm -f "$run_folder/output"

step "the job ended with status $status after $((SECONDS - started)) s"
if [[ $status -eq 0 && ( -z $victim || -z $restarted ) ]]; then
    echo "quickstart: no worker was killed and started again: the program's lines have changed" >&2
    status=1
elif [[ $status -eq 0 ]]; then
    echo "test accuracy: $accuracy, although worker $victim was killed half way"
    echo "snapshot: $snapshot -> $(readlink "$snapshot")"
fi
exit "$status"
