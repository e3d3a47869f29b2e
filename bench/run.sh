#!/usr/bin/env bash
# Measures ddprun and its peers and writes bench/RESULTS.md. bench/README.md says what each bench
# measures.
#   bench/run.sh                   all of the benches below; RESULTS.md is written anew
#   bench/run.sh launch            one or more of launch, idle, output, restart, ddp, snapshot,
#                                  rendezvous, store; the report goes to the terminal alone
#   bench/run.sh --quick [NAME…]   few rounds, to try the scripts; to the terminal alone
# Peers come from PyPI into build/bench, which may be removed afterwards; a machine without network
# measures against what it has and says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=bench/common.sh
source bench/common.sh
# shellcheck source=bench/peers.sh
source bench/peers.sh
# shellcheck source=bench/launch.sh
source bench/launch.sh
# shellcheck source=bench/idle.sh
source bench/idle.sh
# shellcheck source=bench/output.sh
source bench/output.sh
# shellcheck source=bench/restart.sh
source bench/restart.sh
# shellcheck source=bench/ddp.sh
source bench/ddp.sh
# shellcheck source=bench/snapshot.sh
source bench/snapshot.sh
# shellcheck source=bench/rendezvous.sh
source bench/rendezvous.sh
# shellcheck source=bench/store.sh
source bench/store.sh

fact() { printf '%s\t%s\n' "$1" "$2" >>"$results/facts"; }

# Where and with what this was measured.
write_facts() {
    local model
    model=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | sort -u | head -n 1)
    fact "Processor" "$model, $(nproc) cores"
    fact "Memory" "$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
    fact "Kernel" "$(uname -sr)"
    fact "Load before the first bench" "$(cut -d ' ' -f 1 /proc/loadavg)"
    fact "ddprun" "$("$ddprun" --version | head -n 1), commit $(git describe --always --dirty)"
    fact "Compiler" "$(c++ --version | head -n 1)"
    fact "LibTorch of the C++ workers" "$libtorch"
    [[ ${#torchrun[@]} -eq 0 ]] || fact "torchrun, PyTorch" "$pytorch"
    fact "Date" "$(date -u '+%Y-%m-%d %H:%M UTC')"
    fact "Command" "$command"
}

run_bench() {
    local started=$SECONDS
    step "$1"
    work=$bench/work
    rm -rf "$work"
    mkdir -p "$work"
    "bench_$1"
    rm -rf "$work"
    step "$1: $((SECONDS - started)) s"
}

command="bench/run.sh${*:+ $*}"
names=()
for argument in "$@"; do
    case $argument in
        --quick) quick=yes ;;
        launch | idle | output | restart | ddp | snapshot | rendezvous | store)
            names+=("$argument") ;;
        *) sed -n 's/^#   /usage: /p' "$0" >&2; exit 2 ;;
    esac
done
report=
if [[ ${#names[@]} -eq 0 ]]; then
    names=(launch idle output restart ddp snapshot rendezvous store)
    [[ $quick == yes ]] || report=$PWD/bench/RESULTS.md
fi

rm -rf "$results"
mkdir -p "$results"
touch "$results/rows" "$results/missing"
find_peers
build_programs "${names[@]}"
write_facts
for name in "${names[@]}"; do
    run_bench "$name"
done
python3 bench/table.py "$results" >"$results/report"
if [[ -n $report ]]; then
    cp "$results/report" "$report"
    step "written: bench/RESULTS.md"
else
    cat "$results/report"  # not to /dev/stdout, which would empty a file that this is sent to
fi
