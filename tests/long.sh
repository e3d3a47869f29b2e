#!/usr/bin/env bash
# Runs what takes longer than tests/run.sh may, one part after the other: hours in all. Prints a
# line for each part: its result, how long it took, and the last line that it said. All that it said
# is in build/long/PART.log. Exits with 1 if a part failed.
#   tests/long.sh                  all parts
#   tests/long.sh PART...          these, in this order
#   tests/long.sh --not PART...    all but these
#   tests/long.sh --list           names them, with what each calls
#   tests/long.sh --help           prints this
# Run it as root, since hosts and Slurm need it.
# LONG_SEEDS: seeds of each kind for the part sim, 1000 unless given.
# LONG_FUZZ: seconds for each fuzzer, 60 unless given.
# LONG_PYTHON: a Python with torch, for a training by the wheel.
# Parts write what they find where it is kept, such as tests/hosts/RESULTS.md and tests/fuzz/corpus:
# `git status` names it.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=(sim mutations asan fuzz parity chaos slurm torch peers gpu packages bundle bytes roots)
logs=build/long

# For each part a function, whose first comment --list shows.
part_sim() {  # tests/sim/long.sh, from a seed that the clock names
    tests/sim/long.sh "${LONG_SEEDS:-1000}" "$(date +%s)"
}
part_mutations() {  # tests/sim/mutations.py --replay, all rules
    python3 tests/sim/mutations.py --replay --build build/mutations
}
part_asan() {  # all tests by the preset asan that need no other host
    cmake --preset asan
    cmake --build --preset asan
    ctest --test-dir build/asan -j 2 --output-on-failure -LE '^(hosts|slurm)'
}
part_fuzz() {  # tests/fuzz/run.sh, each target
    tests/fuzz/run.sh "${LONG_FUZZ:-60}"
}
part_parity() {  # worker_test: losses beside Python's, 200 steps
    cmake --preset dev
    cmake --build --preset dev --target worker_test
    PARITY_STEPS=200 build/dev/bin/worker_test -tc='parity*'
}
part_chaos() {  # tests/hosts/chaos.sh, votes and claims, training and chatter
    local how workers status=0
    for workers in training chatter; do
        for how in votes claims; do
            tests/hosts/chaos.sh "$RANDOM" 5 "$how" 2 "$workers" || status=1
        done
    done
    return "$status"
}
part_slurm() {  # tests/slurm/long.sh, Slurm's default times
    tests/slurm/long.sh
}
part_torch() {  # tests/torch_matrix.sh, Debian's LibTorch and PyPI's newest
    tests/torch_matrix.sh
}
part_peers() {  # tests/peers.sh, four versions of PyTorch at one store
    cmake --preset release
    cmake --build --preset release --target ddprun
    tests/peers.sh
}
part_gpu() {  # tests/gpu.sh, which passes where there is no GPU
    tests/gpu.sh
}
part_packages() {  # packaging/build.sh, then packaging/test.sh and packaging/test_e2e.sh
    packaging/build.sh
    packaging/test.sh ${LONG_PYTHON:+"$LONG_PYTHON"}
    packaging/test_e2e.sh
}
part_bundle() {  # packaging/gpu_bundle.sh, then packaging/test_bundle.sh
    packaging/gpu_bundle.sh
    packaging/test_bundle.sh
}
part_roots() {  # tests/fresh_root.sh, README's commands on Debian 12 and 13
    tests/fresh_root.sh bookworm
    tests/fresh_root.sh trixie
}
part_bytes() {  # packaging/twice.sh: the same source gives the same packages
    packaging/twice.sh
}

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
list() {
    local part
    for part in "${parts[@]}"; do
        sed -n "s/^part_$part() {  # /$part: /p" "$0"
    done
}
refuse() {
    echo "long.sh: $1; parts are: ${parts[*]}" >&2
    exit 2
}

# choose WORD...: sets chosen.
choose() {
    local part without=no
    if [[ ${1:-} == --not ]]; then
        without=yes
        shift
        [[ $# -gt 0 ]] || refuse "--not names no part"
    fi
    for part in "$@"; do
        [[ " ${parts[*]} " == *" $part "* ]] || refuse "there is no part '$part'"
    done
    chosen=("$@")
    if [[ $without == yes ]]; then
        chosen=()
        for part in "${parts[@]}"; do
            [[ " $* " == *" $part "* ]] || chosen+=("$part")
        done
    elif [[ $# -eq 0 ]]; then
        chosen=("${parts[@]}")
    fi
}

# run PART: prints its line, and adds it to failed. Not to be called where the shell asks for its
# status: then it would go on behind a command that fails within the part.
failed=()
run() {
    local log=$logs/$1.log start=$SECONDS result=passed took status
    set +e
    (set -e; "part_$1") >"$log" 2>&1 </dev/null
    status=$?
    set -e
    took=$((SECONDS - start))
    if [[ $status -ne 0 ]]; then
        result=FAILED
        failed+=("$1")
    fi
    printf '%-10s %s  %d:%02d:%02d  %s\n' "$1" "$result" $((took / 3600)) $((took / 60 % 60)) \
        $((took % 60)) "$(grep -v '^ *$' "$log" | tail -n 1 || true)"
}

case ${1:-} in
    --help) usage; exit 0 ;;
    --list) list; exit 0 ;;
esac
choose "$@"
trap 'exit 130' INT  # also where a part takes it for its own end
mkdir -p "$logs"
for part in "${chosen[@]}"; do
    run "$part"
done
if [[ ${#failed[@]} -gt 0 ]]; then
    echo "failed: ${failed[*]}; see $logs/PART.log" >&2
    exit 1
fi
