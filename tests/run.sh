#!/usr/bin/env bash
# Builds and tests this project from a fresh clone, missing Debian packages included. The last line
# says how many tests passed, failed and were skipped.
#   tests/run.sh        the preset dev and all its tests
#   tests/run.sh --all  also the presets asan, clang and ci, the linters, and PyTorch from PyPI
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/checks.sh
source .ci/checks.sh

pytorch_tests='^(e2e store|interoperation):'  # those that run TEST_PYTHON
declare -A build_s=([dev]=600 [asan]=450 [clang]=240 [ci]=450)  # what each preset may take
declare -A test_s=([asan]=500 [clang]=300 [ci]=300)

# The preset dev, a part for each kind of test.
run_dev() {
    part "build dev" "${build_s[dev]}" build dev all || return 0
    local kind
    for kind in unit scenario sim e2e tidy worker; do
        part "$kind" 150 tests_of dev -L "^$kind\$" || true
    done
}

# run_preset NAME: another preset, its tests in one part; those on many hosts ran in dev.
run_preset() {
    part "build $1" "${build_s[$1]}" build "$1" all || return 0
    part "test $1" "${test_s[$1]}" tests_of "$1" -LE '^(hosts|slurm)' || true
}

run_everything_else() {
    part "scripts" 20 check_scripts || true
    part "manuals" 10 check_manuals || true
    part "format" 30 check_format || true
    part "hosts_kit" 60 tests_of dev -L '^hosts_kit$' || true
    part "hosts" 360 tests_of dev -L '^hosts$' || true
    part "slurm_kit" 90 tests_of dev -L '^slurm_kit$' -j 4 || true  # they mostly wait
    part "slurm" 240 tests_of dev -L '^slurm$' -j 4 || true
    if part "mutations" 600 check_mutations; then cat "$results/mutations"; fi
    local preset
    for preset in asan clang ci; do
        run_preset "$preset"
    done
    part "clang-tidy" 300 check_tidy || true
    part "pypi torch" 420 check_pypi_torch "$pytorch_tests" || true
}

all=no
case "${1:-}" in
    --all) all=yes ;;
    "") ;;
    *) echo "usage: tests/run.sh [--all]" >&2; exit 2 ;;
esac

if [[ $all == yes ]]; then
    .ci/packages.sh build data test ci slurm
else
    .ci/packages.sh build data test
fi
run_dev
[[ $all == no ]] || run_everything_else
echo "all parts: $SECONDS s"
summary
