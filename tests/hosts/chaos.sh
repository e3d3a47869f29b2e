#!/usr/bin/env bash
# The long run of tests/hosts/chaos_test.cpp and chaos_training_test.cpp, with the default patience:
# faults, drawn from a seed, one after the other; some ten minutes for 35 of training, and then the
# same training without them. Root only. Prints seed, faults and verdict, keeps what every ddprun
# said in build/chaos/SEED, and writes its section of tests/hosts/RESULTS.md.
#   tests/hosts/chaos.sh [SEED [TIMES [votes|claims [MIN [training|chatter]]]]]
# TIMES of each kind of fault, 5 unless given; MIN of 4 hosts are enough, 2 unless given. Workers of
# `training` are connected to each other; those of `chatter` are not, and write lines.
# CHAOS_DEAD_AFTER: in ms, 4000 unless given.
set -euo pipefail
cd "$(dirname "$0")/../.."

seed=${1:-$RANDOM}
times=${2:-5}
how=${3:-votes}
min=${4:-2}
workers=${5:-training}
log=build/chaos/$seed.log
results=tests/hosts/RESULTS.md
section="## $how, $min of 4 hosts are enough, $workers"

case "$how $workers" in
    "votes training") test='hosts: a job that suffers*' ;;
    "claims training") test='hosts: a job in a shared folder that suffers*' ;;
    "votes chatter") test='hosts: workers without connections suffer every*' ;;
    "claims chatter") test='hosts: workers without connections suffer the same*' ;;
    *) echo "chaos: votes or claims, training or chatter" >&2; exit 2 ;;
esac

# fact NAME VALUE: a row of the report.
fact() { printf '| %s | %s |\n' "$1" "$2"; }

# What LibTorch the workers use, where a Debian package brought it.
libtorch() {
    dpkg-query -W -f='Debian'\''s ${Version}\n' libtorch-dev 2>/dev/null ||
        sed -n 's/^Torch_DIR:PATH=//p' build/dev/CMakeCache.txt
}

introduction() {
    cat <<'END'
# Results

Written by `tests/hosts/chaos.sh`, a section for each kind of job. The job runs on 4 hosts, with one
worker on each, while hosts fail one after the other; sometimes a host fails while another is
still out. Most faults last between a fifth of `--dead-after` and twice that, so that some end
before a node counts as lost, and end no generation. The time to the next generation runs from the
fault, or from the start of ddprun, until the last worker of the next generation starts.

`training` trains `examples/toy`, and once more without any fault, with as many workers in each
generation and from the same snapshots: the trained model and each snapshot that a generation began
with are equal to the last bit. Workers of `chatter` hold no connections and write lines, so that
only ddprun ends them. In both kinds a process outside of ddprun watches each worker's start and
end: no two workers of different generations were alive at once.

END
}

report() {
    printf '%s\n\n| | |\n|---|---|\n' "$section"
    fact "Command" "tests/hosts/chaos.sh $seed $times $how $min $workers"
    fact "Patience" "--dead-after ${dead_after}ms"
    fact "Verdict" "$(sed -n 's/^verdict: //p' "$log")"
    [[ $workers == chatter ]] || fact "Training" "$(sed -n 's/^training: //p' "$log")"
    fact "Processor" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | sort -u | head -n 1), $(
        nproc) cores; load $load at the beginning"
    fact "Kernel" "$(uname -sr)"
    fact "ddprun" "$(build/dev/bin/ddprun --version | head -n 1), commit $commit, preset dev"
    fact "Compiler" "$(c++ --version | head -n 1)"
    [[ $workers == chatter ]] || fact "LibTorch" "$(libtorch)"
    fact "Date" "$(date -u '+%Y-%m-%d %H:%M UTC')"
    echo
    grep '^|' "$log"
}

dead_after=${CHAOS_DEAD_AFTER:-4000}
cmake --preset dev >/dev/null
cmake --build --preset dev --target hosts_tests
rm -rf "build/chaos/$seed"
mkdir -p "build/chaos/$seed"
load=$(cut -d ' ' -f 1 /proc/loadavg)
commit=$(git describe --always --dirty)
CHAOS_SEED=$seed CHAOS_TIMES=$times CHAOS_MIN=$min CHAOS_DEAD_AFTER=$dead_after \
    CHAOS_LOGS=$PWD/build/chaos/$seed build/dev/bin/hosts_tests --test-case="$test" | tee "$log"
grep '^verdict: ' "$log" >/dev/null || { echo "chaos: it was skipped" >&2; exit 1; }
others=$(awk -v own="$section" '/^## / { other = $0 != own } other' "$results")
{
    introduction
    [[ -z $others ]] || printf '%s\n\n' "$others"
    report
} >"$results"
echo "written: $results"
