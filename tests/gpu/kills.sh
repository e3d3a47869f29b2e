# Shell functions for tests/gpu.sh: kills while GPUs compute with a communicator of all ranks.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

test_kills() {
    expect "kill -9 of ddprun frees the GPU" freed_after kill_ddprun
    expect "kill -9 of ddprun's agent frees the GPU" freed_after kill_agent
    expect "kill -9 of a worker ends the job and frees the GPU" freed_after kill_worker
    expect "ctrl-C frees the GPU" freed_after interrupt
    expect "SIGTERM to ddprun frees the GPU" freed_after terminate
    expect "kill -9 of a Python job's ddprun frees the GPU" freed_python
    expect "a restarted worker finds its GPU free" restarted_on_a_free_gpu
    expect "toy goes on after kill -9" killed_once
    expect "toy goes on from its snapshot" shows killed 'Resuming training'
}

# What a worker does before it is a program: its own pid, and the memory in use on its GPU.
# shellcheck disable=SC2016 # the workers' shell expands it
noting=(--no-python bash -c '
    me=$TORCHELASTIC_RESTART_COUNT.$LOCAL_RANK
    nvidia-smi -i "$LOCAL_RANK" --query-gpu=memory.used --format=csv,noheader,nounits >"used.$me"
    echo $$ >"pid.$me"
    exec "$@"' bash)

# starts_computing NAME OPTIONS...: a job that adds up and does not end soon; waits until it does.
starts_computing() {
    local name=$1
    shift
    start "$name" --nproc-per-node="$gpus" "$@" "${noting[@]}" "$folder/bin/sums" 100000000
    within 40 shows "$name" 'round 3:' && uses_nccl "$name" && ! memory_is_free && return 0
    echo "it does not compute with NCCL on a GPU"
    return 1
}

# freed_after KILL: `KILL NAME` does it; then the job ends, and leaves nothing on the GPU.
freed_after() {
    local name=$1 status=0
    starts_computing "$name" || status=1
    "$1" "$name" || status=1
    ended || status=1
    gpu_is_free || status=1
    fact "$name: ddprun's exit status $job_status; $(grep -a '^after' "$logs/test.log" | tail -n 1)"
    tail -n 8 "$last_log"
    return "$status"
}

# ended: waits for the job of `start`; sets job_status.
ended() {
    job_status=0
    if ! within 20 gone; then
        echo "ddprun has not ended after 20 s"
        kill -KILL "$pid" || true
        wait "$pid" || job_status=$?
        return 1
    fi
    wait "$pid" || job_status=$?
}

# gone: the job's first process has ended; as a zombie it still waits for this shell.
gone() { ! grep -q '^State:\s*[^Z]' "/proc/$pid/status" 2>/dev/null; }

kill_ddprun() { kill -KILL "$pid"; }
kill_agent() {
    local agent
    read -r agent _ <"/proc/$pid/task/$pid/children" || true
    kill -KILL "$agent"
}
kill_worker() { kill -KILL "$(cat "$work/$1/pid.0.0")"; }
interrupt() { kill -INT "$pid"; }
terminate() { kill -TERM "$pid"; }

freed_python() {
    local status=0
    start python_killed --nproc-per-node="$gpus" python3 "$worker" fit 100000000
    within 40 shows python_killed 'step 3$' || status=1
    kill_ddprun
    ended || status=1
    gpu_is_free || status=1
    return "$status"
}

# The memory of the killed worker is free again before the next generation begins.
restarted_on_a_free_gpu() {
    local status=0 used
    starts_computing restarted --max-restarts=1 || status=1
    kill_worker restarted
    within 40 test -s "$work/restarted/pid.1.0" || status=1
    for used in "$work/restarted"/used.*; do echo "${used##*/}: $(cat "$used") MiB"; done
    (($(cat "$work/restarted/used.1.0") < $(cat "$work/restarted/used.0.0") + 300)) || status=1
    fact "MiB on the GPU as workers begin: $(cat "$work/restarted"/used.*.0 | paste -s)"
    interrupt
    ended || status=1
    gpu_is_free || status=1
    return "$status"
}

# The process of rank 0 is killed in the first generation, once there is a snapshot.
killed_once() {
    # shellcheck disable=SC2016 # the workers' shell expands it
    run_job killed --nproc-per-node="$gpus" --snapshot snapshot.pt --max-restarts 1 \
        --no-python bash -c '
        [[ $TORCHELASTIC_RESTART_COUNT -gt 0 || $RANK -gt 0 ]] && exec "$@"
        "$@" & until [[ -e snapshot.pt ]]; do sleep 0.1; done
        kill -KILL $! && wait $!' bash "$folder/bin/toy" 500 50
}
