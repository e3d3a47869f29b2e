#!/usr/bin/env bash
# The long run of tests/hosts/chaos_test.cpp, with the default patience: faults, drawn from a seed,
# and then the same training without them; some ten minutes. Root only. Prints seed, faults and
# verdict, keeps what every ddprun said in build/chaos/SEED, and writes tests/hosts/RESULTS.md.
#   tests/hosts/chaos.sh [SEED [TIMES]]    TIMES of each fault, 5 unless given
set -euo pipefail
cd "$(dirname "$0")/../.."

seed=${1:-$RANDOM}
times=${2:-5}
log=build/chaos/$seed.log
results=tests/hosts/RESULTS.md

# fact NAME VALUE: a row of the report.
fact() { printf '| %s | %s |\n' "$1" "$2"; }

# What LibTorch the workers use, where a Debian package brought it.
libtorch() {
    dpkg-query -W -f='Debian'\''s ${Version}\n' libtorch-dev 2>/dev/null ||
        sed -n 's/^Torch_DIR:PATH=//p' build/dev/CMakeCache.txt
}

report() {
    cat <<'END'
# Results

Written by `tests/hosts/chaos.sh`. A job of 4 hosts, of which 2 are enough, trains
`examples/toy.cpp` with one worker on each, while its hosts fail, one after the other; sometimes one
fails while another is still out. Each fault lasts between a fifth of `--dead-after` and twice that,
so that some are over before anybody is given up, and end no generation. The time to the next
generation runs from the fault, or from the start of ddprun, until the last of its workers starts.

No two generations were alive at once. The training was repeated without any fault, with as many
workers in each generation and from the same snapshots: the trained model and each snapshot that a
generation began with are the same to the last bit.

END
    printf '| | |\n|---|---|\n'
    fact "Command" "tests/hosts/chaos.sh $seed $times"
    fact "Verdict" "$(grep 'generations$' "$log"), $(grep 'the same$' "$log")"
    fact "Processor" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | sort -u | head -n 1), $(
        nproc) cores; load $load at the beginning"
    fact "Kernel" "$(uname -sr)"
    fact "ddprun" "$(build/dev/bin/ddprun --version | head -n 1), commit $commit, preset dev"
    fact "Compiler" "$(c++ --version | head -n 1)"
    fact "LibTorch" "$(libtorch)"
    fact "Date" "$(date -u '+%Y-%m-%d %H:%M UTC')"
    echo
    grep '^|' "$log"
}

cmake --preset dev >/dev/null
cmake --build --preset dev --target hosts_tests
rm -rf "build/chaos/$seed"
mkdir -p "build/chaos/$seed"
load=$(cut -d ' ' -f 1 /proc/loadavg)
commit=$(git describe --always --dirty)
CHAOS_SEED=$seed CHAOS_TIMES=$times CHAOS_DEAD_AFTER=4000 CHAOS_LOGS=$PWD/build/chaos/$seed \
    build/dev/bin/hosts_tests --test-case='hosts: a job that suffers*' | tee "$log"
grep 'the same$' "$log" >/dev/null || { echo "chaos: it was skipped" >&2; exit 1; }
report >"$results"
echo "written: $results"
