# Shell functions for tests/gpu.sh: what ddprun says of failures on a GPU.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

memory_hint="hint: the GPU's memory is full"
same_gpu_hint="hint: two workers use the same GPU"
driver_hint="hint: the GPU's driver wrote to the kernel's log"

test_failures() {
    local python=(--nproc-per-node="$gpus" python3 "$worker")
    local more=$((gpus + 1))
    expect "Python without GPU memory: the job ends with 1" \
        ends_with 1 run_job memory "${python[@]}" out_of_memory
    expect "Python without GPU memory: the hint is shown once" shows_once memory "$memory_hint"
    expect "Python without GPU memory: the exception is shown once" \
        exception_is_shown_once memory 'OutOfMemoryError: CUDA out of memory'
    expect "Python without GPU memory: the GPU is free" gpu_is_free
    expect "C++ without GPU memory: the job ends with 1" cpp_out_of_memory
    expect "C++ without GPU memory: the hint is shown once" shows_once memory_cpp "$memory_hint"
    expect "a device-side assertion: the job ends with 1" \
        ends_with 1 run_job assertion "${python[@]}" assertion
    expect "a device-side assertion: the exception is shown once" \
        exception_is_shown_once assertion 'Error: CUDA error: device-side assert'
    expect "a device-side assertion: the GPU is free" gpu_is_free
    tell_hints assertion
    expect "two C++ workers on a GPU: the job fails" \
        ends_with 1 run_job double --nproc-per-node="$more" "$folder/bin/toy" 20 10
    expect "two C++ workers on a GPU: the hint is shown once" shows_once double "$same_gpu_hint"
    expect "two Python workers on a GPU: the job fails" \
        ends_with 1 run_job double_python --nproc-per-node="$more" python3 "$worker" fit
    expect "two Python workers on a GPU: the hint is shown once" \
        shows_once double_python "$same_gpu_hint"
    expect "two workers on a GPU: it is free" gpu_is_free
    test_driver_error
}

tell_hints() { fact "hints of $1: $(grep 'hint:' "$logs/$1.log" | paste -s || true)"; }

# exception_is_shown_once NAME TEXT: in the report, whose lines of an exception begin with "  | ";
# the worker's own output has its traceback besides.
exception_is_shown_once() {
    local count
    count=$(grep -E '^ +\| ' "$logs/$1.log" | grep -c -- "$2" || true)
    echo "$count lines of the report with: $2"
    [[ $count -eq 1 ]]
}

# Another process has all of the first GPU's memory but 4 GiB, of which a large batch needs more.
cpp_out_of_memory() {
    local status=0 hog release
    rm -f "$work/hog.ready" "$work/hog.pipe"
    mkfifo "$work/hog.pipe"
    timeout 60 python3 "$worker" hog 4 "$work/hog.ready" <"$work/hog.pipe" \
        >"$logs/hog.log" 2>&1 &
    hog=$!
    exec {release}>"$work/hog.pipe"
    within 40 test -s "$work/hog.ready" || { cat "$logs/hog.log" && status=1; }
    ends_with 1 run_job memory_cpp --nproc-per-node=1 "$folder/bin/fashion_mnist" --data "$data" \
        --batch-size 20000 || status=1
    exec {release}>&-
    wait "$hog" || true
    gpu_is_free || status=1
    return "$status"
}

# What the driver writes to the kernel's log, if it writes there and this user may read it.
test_driver_error() {
    local before name="an illegal address: the driver's Xid is shown"
    if [[ ! -x $folder/bin/illegal ]]; then
        skip "an illegal address" "there is no $folder/bin/illegal, and nvcc cannot compile it"
        return 0
    fi
    before=$(xids | wc -l)
    expect "an illegal address: the job ends with 1" \
        ends_with 1 run_job illegal --nproc-per-node=1 "$folder/bin/illegal"
    within 3 xid_came "$before" || true
    xids | tail -n +$((before + 1)) >"$logs/xids"
    while read -r line; do fact "kernel log: $line"; done <"$logs/xids"
    tell_hints illegal
    if [[ -s $logs/xids ]]; then
        expect "$name" shows_once illegal "$driver_hint"
    else
        skip "$name" "the kernel's log shows none, or cannot be read"
    fi
    expect "an illegal address: the GPU is free" gpu_is_free
}

xids() { dmesg 2>/dev/null | grep -i 'xid' || true; }

xid_came() { (($(xids | wc -l) > $1)); }
