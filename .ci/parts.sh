# Shell functions for tests/run.sh: timed parts, and one count of all that they tested.
# shellcheck shell=bash

# In it: tests, one line each, "status<tab>part: name<tab>reason"; built.PRESET.TARGET; and of each
# lane LANE.log of its newest part, LANE.times and LANE.xml.
results=$(mktemp -d)
lane=main   # parts of different lanes run at once
lane_pids=()
trap 'end_lanes; rm -rf "$results"' EXIT
: >"$results/tests"

# Each lane is a process group: ctrl-C ends this shell alone.
end_lanes() {
    local pid
    for pid in "${lane_pids[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
}

# beside FUNCTION...: runs each in a lane of its own, and waits for all.
in_lane() { lane=$1; "$1"; }
beside() {
    local each pid
    set -m  # without it, what runs in a lane would ignore SIGINT
    for each in "$@"; do
        in_lane "$each" </dev/null &
        lane_pids+=($!)
    done
    set +m
    for pid in "${lane_pids[@]}"; do
        wait "$pid" || record failed "lane of $pid" "it ended before its parts had run"
    done
    lane_pids=()
}

# To be the first in a lane that compiles: what waits for events in another comes before it.
give_way() { renice -n 19 -p "$BASHPID" >/dev/null; }

# record STATUS NAME [REASON]: counts one test.
record() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results/tests"; }

# processor_s TIMES: whole seconds of the processor that this shell's children have taken, by what
# `times` has written to that file; a subshell would say what its own have.
processor_s() {
    awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1"
}

# part NAME BUDGET_S COMMAND...: runs COMMAND as one part and prints its time. What it prints is
# shown only if it fails, and then it returns 1. COMMAND records its tests; a failure without any
# record counts as one failed test. A part that takes twice its budget of the processor fails:
# unlike the time that it takes, that hardly depends on what else the machine does.
part() {
    local name=$1 budget=$2 start=$SECONDS status=0 took used used_before
    local log=$results/$lane.log times=$results/$lane.times
    shift 2
    times >"$times"
    used_before=$(processor_s "$times")
    part_name=$name
    "$@" >"$log" 2>&1 || status=1
    took=$((SECONDS - start))
    times >"$times"
    used=$(($(processor_s "$times") - used_before))
    printf 'part %s: %d s of %d s, processor %d s%s\n' "$name" "$took" "$budget" "$used" \
        "$([[ $took -le $budget ]] || echo ', over its budget')"
    if ((used > 2 * budget)); then
        record failed "$name" "it took the processor for $used s, twice its budget and more"
        status=1
    fi
    [[ $status -eq 0 ]] && return 0
    tail -n 400 "$log"
    if ! grep "^failed	$name" "$results/tests" >/dev/null; then
        record failed "$name" "see its output above"
    fi
    return 1
}

jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

# build PRESET TARGET: configures and compiles; leaves built.PRESET.TARGET.
build() {
    cmake --preset "$1" -DDDPRUN_WARNINGS_AS_ERRORS=ON &&
        cmake --build --preset "$1" -j "$jobs" --target "$2" && : >"$results/built.$1.$2"
}

# tests_of PRESET [OPTIONS FOR CTEST...]: runs tests by ctest and records each of them.
tests_of() {
    local preset=$1 status=0 junit="$results/$lane.xml"
    shift
    rm -f "$junit"
    ctest --test-dir "build/$preset" -j 2 --quiet --no-tests=error --output-junit "$junit" \
        --test-output-size-passed 65536 --test-output-size-failed 65536 "$@" || status=1
    [[ -s $junit ]] || return 1
    python3 .ci/count.py "$junit" |
        awk -F '\t' -v OFS='\t' -v part="$part_name" '{ $2 = part ": " $2; print }' \
            >>"$results/tests"
    return "$status"
}

# Where root may make namespaces, a test that is skipped lacks something that could be there, as CI
# has it. What no machine changes: that PyPI cannot be reached, a device that the kernel lacks, and
# what a sanitizer cannot do; those tests run in the other presets.
no_machine_can='from PyPI here|/dev/loop-control|sanitizer'
fail_needless_skips() {
    [[ $EUID -eq 0 ]] && unshare --mount --net --uts --pid --fork true 2>/dev/null || return 0
    awk -F '\t' -v OFS='\t' -v excused="$no_machine_can" '
        $1 == "skipped" && $3 !~ excused { $1 = "failed"; $3 = "skipped, and need not be: " $3 }
        { print }' "$results/tests" >"$results/judged"
    mv "$results/judged" "$results/tests"
}

# summary: names what was skipped and what failed, then the closing line. Returns 1 after a failure.
summary() {
    awk -F '\t' '$1 == "skipped" { count[$3]++; name[$3] = $2 }
        END { for (reason in count)
            printf "skipped %d, such as %s: %s\n", count[reason], name[reason], reason }' \
        "$results/tests"
    awk -F '\t' '$1 == "failed" { printf "failed %s: %s\n", $2, $3 }' "$results/tests"
    awk -F '\t' '{ count[$1]++ }
        END { printf "%d passed, %d failed", count["passed"], count["failed"]
            if (count["skipped"]) printf ", %d skipped", count["skipped"]
            print ""
            exit count["failed"] > 0 || count["passed"] == 0 }' "$results/tests"
}
