#!/usr/bin/env bash
# Builds and tests this project from a fresh clone, missing Debian packages included. The last line
# says how many tests passed, failed and were skipped.
#   tests/run.sh          the preset dev and all its tests
#   tests/run.sh --quick  what a change needs before it is shown: texts, and what the preset
#                         quick builds, with the tests that need no other host
#   tests/run.sh --all    the quick start, all tests, also by the presets asan and release, by clang
#                         and the linters, and with PyTorch from PyPI
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/checks.sh
source .ci/checks.sh

pytorch_tests='^(e2e store|interoperation):'  # those that run TEST_PYTHON
declare -A build_s=([dev]=600 [asan]=450 [clang]=240 [release]=400)  # what each preset may take
declare -A test_s=([asan]=500 [release]=300)

# What no compiler is needed for.
check_texts() {
    part "scripts" 20 check_scripts || true
    part "manuals" 10 check_manuals || true
    part "format" 30 check_format || true
}

run_quick() {
    check_texts
    part "build quick" 240 build quick all || return 0
    part "tidy" 30 tests_of quick -L '^tidy$' || true
    part "test quick" 150 tests_of quick -L '^(unit|scenario|sim|e2e)$' || true
}

# The preset dev, a part for each kind of test.
run_dev() {
    part "build dev" "${build_s[dev]}" build dev all || return 0
    local kind
    for kind in tidy unit scenario sim e2e worker; do
        part "$kind" 150 tests_of dev -L "^$kind\$" || true
    done
}

# run_preset NAME: another preset, its tests in one part; those on many hosts ran in dev.
run_preset() {
    part "build $1" "${build_s[$1]}" build "$1" all || return 0
    part "test $1" "${test_s[$1]}" tests_of "$1" -LE '^(hosts|slurm)' || true
}

run_everything_else() {
    part "hosts_kit" 60 tests_of dev -L '^hosts_kit$' || true
    part "hosts" 360 tests_of dev -L '^hosts$' || true
    part "slurm_kit" 90 tests_of dev -L '^slurm_kit$' -j 4 || true  # they mostly wait
    part "slurm" 240 tests_of dev -L '^slurm$' -j 4 || true
    if part "mutations" 600 check_mutations; then cat "$results/mutations"; fi
    run_preset asan
    run_preset release
    # Clang compiles and looks; its programs do what those of asan and release do.
    part "build clang" "${build_s[clang]}" build clang all || true
    part "clang-tidy" 300 check_tidy || true
    part "pypi torch" 420 check_pypi_torch "$pytorch_tests" || true
}

what=${1:-}
case $what in
    --all) .ci/packages.sh build data test ci slurm ;;
    --quick) .ci/packages.sh build test ci ;;
    "") .ci/packages.sh build data test ;;
    *) echo "usage: tests/run.sh [--quick | --all]" >&2; exit 2 ;;
esac
case $what in
    --all)
        check_texts
        part "quick start" 240 check_quick_start || true
        run_dev
        run_everything_else
        ;;
    --quick) run_quick ;;
    "") run_dev ;;
esac
echo "all parts: $SECONDS s"
summary
