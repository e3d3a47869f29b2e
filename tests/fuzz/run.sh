#!/usr/bin/env bash
# tests/fuzz/run.sh [--only-search] SECONDS [TARGET...]: searches for inputs that break a rule, so
# long for each target, and makes its corpus anew of the best inputs, unless it is only to search.
# Stops at a finding, which it leaves in build/fuzz/found/. Prints executions a second and what the
# inputs reach. Without LibTorch, name targets that are not the worker runtime's.
set -euo pipefail
cd "$(dirname "$0")/../.."
only_search=
if [[ ${1:-} == --only-search ]]; then
    only_search=yes
    shift
fi
seconds=${1:?usage: tests/fuzz/run.sh [--only-search] SECONDS [TARGET...]}
shift
launcher_targets="channel hosts job_file key_value lines message options store_codec system_text"
worker_targets="idx optimizer_state pickle snapshot zip"
read -ra targets <<<"${*:-$launcher_targets $worker_targets}"
build=build/fuzz
cmake --preset fuzz >/dev/null
mkdir -p "$build/found"
python3 tests/fuzz/seeds.py "$build/seeds"

# figures LOG: of libFuzzer's last line and its sums.
figures() {
    awk '/ cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1)
                                               if ($i == "ft:") features = $(i + 1) } }
        /stat::number_of_executed_units/ { runs = $2 }
        /stat::average_exec_per_sec/ { speed = $2 }
        END { printf "%d runs, %d a second, %d edges, %d features\n",
                     runs, speed, cov, features }' "$1"
}

for target in "${targets[@]}"; do
    program=fuzz
    if [[ " $worker_targets " == *" $target "* ]]; then program=fuzz_worker; fi
    cmake --build --preset fuzz --target "$program" >"$build/build.log" || {
        cat "$build/build.log"
        exit 1
    }
    export FUZZ_TARGET=$target
    found="$build/found/$target" corpus="tests/fuzz/corpus/$target" log="$build/$target.log"
    mkdir -p "$found" "$corpus"
    "$build/bin/$program" "$found" "$corpus" "$build/seeds/$target" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -malloc_limit_mb=256 \
        -max_len=20000 -print_final_stats=1 \
        -artifact_prefix="$build/found/$target-" >"$log" 2>&1 || {
        tail -n 60 "$log"
        echo "$target: a finding; feed it again by: FUZZ_TARGET=$target $build/bin/$program FILE"
        exit 1
    }
    echo "$target: $(figures "$log")"
    [[ -z $only_search ]] || continue
    rm -rf "$found.merged" "$found.control"
    mkdir "$found.merged"
    "$build/bin/$program" -set_cover_merge=1 -merge_control_file="$found.control" -max_len=20000 \
        "$found.merged" "$corpus" "$found" "$build/seeds/$target" >>"$log" 2>&1
    python3 tests/fuzz/keep.py "$found.control" "$corpus"
    rm -rf "$found"
    mv "$found.merged" "$found"
done
