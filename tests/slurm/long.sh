#!/usr/bin/env bash
# The long run of tests/slurm/long_test.cpp: a job that is stopped before its time limit is queued
# again by Slurm's own times, and ends what it has begun; some three minutes. Root only. Prints how
# long the job has waited for its second run, and the verdict.
#   tests/slurm/long.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

log=build/slurm_long.log
cmake --preset dev >/dev/null
cmake --build --preset dev --target slurm_tests
build/dev/bin/slurm_tests --test-case='slurm long: *' | tee "$log"
grep '^| wait' "$log" >/dev/null || { echo "long: it was skipped" >&2; exit 1; }
