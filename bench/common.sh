# What the scripts of bench/ share: where things are, what there is to measure against, and how a
# measurement is made and kept.
# shellcheck shell=bash disable=SC2034 # those that source this use it

bench=$PWD/build/bench
results=$bench/results  # rows, facts, missing: see bench/table.py
work=$bench/work        # scratch folder, empty when a bench begins
ddprun=${BENCH_DDPRUN:-$PWD/build/release/bin/ddprun}
programs=$bench/programs/bin
torch_prefix=           # for CMAKE_PREFIX_PATH; empty: the system's LibTorch
libtorch=               # in words
python=                 # one that has PyTorch; empty where there is none
pytorch=                # in words
torchrun=()             # its command; empty where there is none
quick=no
wall_s=0                # of the last stopwatch
rss_kib=0

step() { printf '== %s\n' "$*" >&2; }

# missing TEXT...: a sentence on what the report lacks, for it and for the terminal.
missing() { printf '%s\n' "$*" | tee -a "$results/missing" >&2; }

# rounds N: how often to repeat, 2 at most when it should be quick.
rounds() { if [[ $quick == yes && $1 -gt 2 ]]; then echo 2; else echo "$1"; fi; }

# in_turn ROUND COLUMN...: the columns in the order of this round, so that none always comes first.
in_turn() {
    local round=$1
    shift
    if ((round % 2 == 1)); then printf '%s\n' "$@"; else printf '%s\n' "$@" | tac; fi
}

# row FIGURE ROUND COLUMN VALUE: one measurement.
row() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$results/rows"; }

# stopwatch COMMAND...: runs it quietly; sets wall_s and rss_kib. Ends everything if COMMAND fails,
# since the time of a failure says nothing.
stopwatch() {
    local status
    "$programs/stopwatch" "$@" >"$work/output" 2>&1 3>"$work/stopwatch" </dev/null || true
    read -r wall_s rss_kib status <"$work/stopwatch"
    [[ $status -eq 0 ]] && return 0
    cat "$work/output" >&2
    echo "bench: status $status of: $*" >&2
    exit 1
}
