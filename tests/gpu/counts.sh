# Shell functions for tests/gpu.sh: how many GPUs a job has, and whose cores its workers get.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

test_counts() {
    local first_uuid
    first_uuid=$(nvidia-smi -L | sed -n '1s/.*(UUID: \(GPU-[^)]*\)).*/\1/p')
    expect "a job has a worker for each GPU of nvidia-smi" counts_are unset "$gpus"
    expect "CUDA_VISIBLE_DEVICES= hides all" counts_are "" 0
    expect "CUDA_VISIBLE_DEVICES=0 leaves one" counts_are 0 1
    expect "CUDA_VISIBLE_DEVICES=UUID leaves one" counts_are "$first_uuid" 1
    expect "CUDA_VISIBLE_DEVICES=99 leaves none" counts_are 99 0
    expect "a line says which worker has which GPU" placement_is_told
    expect "--cpu-bind numa gives the cores of the GPU's node" cores_are --cpu-bind=numa
    expect "--numa-binding node gives the cores of the GPU's node" cores_are --numa-binding=node
    expect "--cpu-bind core gives each worker cores of its own" cores_differ
}

# shellcheck disable=SC2016 # the worker's shell expands it
show_cores=(--no-python sh -c 'grep Cpus_allowed_list /proc/self/status')

# masked VALUE COMMAND...: with that CUDA_VISIBLE_DEVICES.
masked() (
    if [[ $1 != unset ]]; then export CUDA_VISIBLE_DEVICES=$1; fi
    shift
    "$@"
)

# counts_are MASK COUNT: ddprun's plan, a real job and PyTorch in a worker agree.
counts_are() {
    local mask=$1 count=$2 planned started seen
    masked "$mask" run_job planned --dry-run --nproc-per-node=gpu true || true
    masked "$mask" run_job started --nproc-per-node=gpu --no-python echo started || true
    masked "$mask" run_job seen --nproc-per-node=1 python3 "$worker" count || true
    planned=$(sed -n 's/^# \([0-9]*\) workers\{0,1\} on .*/\1/p' "$logs/planned.log")
    started=$(grep -c '\] started$' "$logs/started.log" || true)
    seen=$(sed -n 's/.*devices: //p' "$logs/seen.log")
    echo "planned ${planned:-0}, started $started, PyTorch sees $seen, $count expected"
    [[ ${planned:-0} -eq $count && $started -eq $count && $seen == "$count" ]]
}

placement_is_told() {
    run_job told --nproc-per-node="$gpus" true &&
        grep -E "workers? 0(-$((gpus - 1)))? (has|have) GPUs? 0(-$((gpus - 1)))?\b" "$last_log"
}

cores_differ() {
    run_job bind_core --nproc-per-node="$gpus" --cpu-bind=core "${show_cores[@]}" || return 1
    [[ $(grep -o 'Cpus_allowed_list.*' "$last_log" | sort -u | wc -l) -eq $gpus ]]
}

# cores_are OPTION: each worker compares its own cores with its GPU's node.
cores_are() {
    local allowed
    allowed=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
    run_job "cores${1%%=*}" --nproc-per-node="$gpus" "$1" python3 "$worker" cores "$allowed"
}
