# Shell functions for tests/gpu.sh: one test, one job, and what is on the GPUs.
# shellcheck shell=bash disable=SC2034 # those that source this use it
# shellcheck source=.ci/parts.sh
source .ci/parts.sh

# prepare_kit FOLDER: of the build.
prepare_kit() {
    folder=$1
    ddprun=$folder/bin/ddprun
    logs=$folder/logs
    work=$folder/work  # each job has a folder of its own in it
    data=${GPU_DATA:-/usr/share/datasets/fashion-mnist}
    seconds_max=${GPU_SECONDS:-480}
    mark=ddprun-gpu-$$  # in the environment of all processes of all jobs
    last_log=/dev/null
    worker=$PWD/tests/gpu/worker.py
    rm -rf "$logs" "$work"
    mkdir -p "$logs" "$work"
    gpus=$({ nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU ' || true)
    used_before=$(used_mib)
}

# The folders of the shared libraries that PyTorch's wheel needs.
torch_libraries() {
    python3 - <<'python'
import glob, os, torch
site = os.path.dirname(os.path.dirname(torch.__file__))
print(":".join([os.path.join(site, "torch/lib"), *sorted(glob.glob(site + "/nvidia/*/lib"))]))
python
}

# expect NAME COMMAND...: one test, whose output is shown only if it fails.
expect() {
    local name=$1 status=0 start=$SECONDS output=$logs/test.log
    shift
    if ((SECONDS > seconds_max)); then
        echo "late  $name"
        record skipped "$part_name: $name" "the $seconds_max s of all tests were over"
        return 1
    fi
    "$@" >"$output" 2>&1 || status=$?
    { echo "== $name: $status" && cat "$output"; } >>"$logs/tests.log"
    if [[ $status -eq 0 ]]; then
        echo "ok    $name ($((SECONDS - start)) s)"
        record passed "$part_name: $name"
        return 0
    fi
    echo "FAIL  $name ($((SECONDS - start)) s)"
    [[ -s $output ]] || cp "$last_log" "$output"
    tail -n 30 "$output" | cut -c 1-180 | sed 's/^/      | /'
    record failed "$part_name: $name" "see above and $logs"
    return 1
}

# skip NAME REASON
skip() {
    echo "skip  $1: $2"
    record skipped "$part_name: $1" "$2"
}

# fact TEXT: something to know, shown at the end.
fact() { echo "$*" >>"$logs/facts"; }

show_facts() {
    echo "== facts"
    cut -c 1-300 "$logs/facts"
}

show_machine() {
    {
        uname -a
        nvidia-smi
        nvidia-smi -L
        nvidia-smi topo -m
        ls -l /dev/nvidia* /proc/driver/nvidia/gpus/* /dev/kmsg
        cat /proc/driver/nvidia/gpus/*/information
        grep . /sys/bus/pci/devices/*/numa_node /sys/devices/system/node/node*/cpulist
        ulimit -a
        dmesg | tail -n 40
    } >"$logs/machine.log" 2>&1 || true
    fact "machine: $(nvidia-smi -L | head -n 1), $gpus in all, $(nproc) cores, $(uname -sr)"
    fact "/proc/driver/nvidia/gpus: $(ls -m /proc/driver/nvidia/gpus 2>&1)"
    fact "NUMA nodes: $(cat /sys/devices/system/node/online 2>&1)"
    fact "kernel log: $(head -c 0 /dev/kmsg 2>&1 && echo can be opened)"
}

# enter NAME: the job's own folder, empty, and where its output goes.
enter() {
    rm -rf "${work:?}/$1"
    mkdir -p "$work/$1"
    last_log=$logs/$1.log
}

# start_in NAME COMMAND...: a job in the background; sets pid. It can be interrupted by SIGINT.
start_in() {
    local name=$1
    shift
    enter "$name"
    (cd "$work/$name" && exec env --default-signal=INT GPU_MARK="$mark" NCCL_DEBUG=INFO \
        NCCL_DEBUG_SUBSYS=INIT "$@") >"$last_log" 2>&1 </dev/null &
    pid=$!
}

# start NAME ARGUMENTS...: ddprun's.
start() { start_in "$1" "$ddprun" --standalone "${@:2}"; }

# run_in NAME COMMAND...: any command as a job of that name; what it prints is shown, too.
run_in() {
    local name=$1 status=0
    shift
    mkdir -p "$work/$name"
    last_log=$logs/$name.log
    (cd "$work/$name" && GPU_MARK="$mark" timeout -k 5 90 "$@") >"$last_log" 2>&1 </dev/null ||
        status=$?
    cat "$last_log"
    return "$status"
}

# run_job NAME ARGUMENTS...: ddprun's job to its end. Its folder is what an earlier one has left.
run_job() {
    local name=$1
    shift
    run_in "$name" env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT "$ddprun" --standalone "$@"
}

# ends_with STATUS COMMAND...
ends_with() {
    local expected=$1 status=0
    shift
    "$@" || status=$?
    echo "exit status $status, $expected expected"
    [[ $status -eq $expected ]]
}

# within SECONDS COMMAND...: waits until COMMAND succeeds.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS <= end)) || return 1
        sleep 0.1
    done
}

# shows NAME PATTERN: the job's log has such a line.
shows() { grep -Eq -- "$2" "$logs/$1.log"; }

# shows_once NAME TEXT: on exactly one line.
shows_once() {
    local count
    count=$(grep -cF -- "$2" "$logs/$1.log" || true)
    echo "$count lines with: $2"
    [[ $count -eq 1 ]]
}

# uses_nccl NAME: every rank of the job has made a communicator of all.
uses_nccl() {
    local rank
    for ((rank = 0; rank < gpus; ++rank)); do
        shows "$1" "rank $rank nranks $gpus .*Init COMPLETE" || return 1
    done
}

# ends_group NAME: LibTorch does not complain of a group that was left to the process's end.
ends_group() { shows "$1" "Init COMPLETE" && ! shows "$1" "destroy_process_group"; }

# Memory of all GPUs in use, in MiB.
used_mib() {
    { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null || true; } |
        awk '{ sum += $1 } END { print sum + 0 }'
}

jobs_processes() { grep -lsz "^GPU_MARK=$mark" /proc/[0-9]*/environ || true; }

# A context alone takes some 500 MiB.
memory_is_free() { (($(used_mib) < used_before + 300)); }

no_process_left() { [[ -z $(jobs_processes) ]]; }

# gpu_is_free: within 10 s no process of a job is left, and their memory is free again.
gpu_is_free() {
    local start=$EPOCHREALTIME status=0
    within 10 no_process_left && within 10 memory_is_free || status=1
    echo "after $(awk "BEGIN { print $EPOCHREALTIME - $start }") s: $(used_mib) MiB in use," \
        "$used_before before; processes: $(jobs_processes | tr '\n' ' ')"
    nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv
    return "$status"
}
