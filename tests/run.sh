#!/usr/bin/env bash
# Builds and tests this project from a fresh clone, missing Debian packages included. The last line
# says how many tests passed, failed and were skipped.
#   tests/run.sh          the preset release, which the quick start uses too, and all its tests
#   tests/run.sh --quick  what a change needs before it is shown: texts, and what the preset
#                         quick builds, with the tests that need no other host
#   tests/run.sh --all    the quick start, all tests, also by the preset asan, which is clang's, by
#                         the linters, and with PyTorch from PyPI; as root, a test that is skipped
#                         without need fails
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/checks.sh
source .ci/checks.sh

# Those that run TEST_PYTHON.
pytorch_tests="^e2e (store|store command):|^worker: .*(interoperation_test|models/)"
pytorch_tests+="|^install: another LibTorch"
long_pytorch_tests="^e2e (torchrun's lines|frameworks):|^worker: .*examples/lightning_test"

# Whether the system's PyTorch has no libuv, as Debian's: from 2.4 on it asks for it, unless
# USE_LIBUV is 0.
lacks_libuv() {
    local opens='import torch.distributed as d
d.TCPStore("localhost", 0, is_master=True, wait_for_workers=False, use_libuv=True)'
    [[ $(/usr/bin/python3 -c "$opens" 2>&1) == *"without libuv"* ]]
}

# What no compiler is needed for.
check_texts() {
    part "scripts" 20 check_scripts || true
    part "manuals" 10 check_manuals || true
    part "site" 20 check_site || true
    part "format" 30 check_format || true
}

# check_rules PRESET: those of the house need the launcher, for what the documents say of it.
check_rules() {
    part "build tidy" 200 build "$1" tidy_test || return 0
    part "tidy" 30 tests_of "$1" -L '^tidy$' || true
}

run_quick() {
    check_rules quick
    part "build quick" 240 build quick all || return 0
    # Most of them wait for processes.
    part "test quick" 150 tests_of quick -L '^(unit|scenario|sim|e2e|fuzz|install)$' -j 4 || true
}

# test_kinds PRESET: a part for each kind of test that needs no other host.
test_kinds() {
    local kind
    for kind in unit scenario sim e2e worker fuzz install; do
        part "$kind" 250 tests_of "$1" -L "^$kind\$" || true
    done
}

run_default() {
    check_rules release
    part "build release" 600 build release all || return 0
    test_kinds release
}

# What waits, beside what compiles.
test_release() {
    [[ -e $results/built.release.all ]] || return 0
    # They mostly wait, each on hosts of its own.
    part "hosts_kit" 60 tests_of release -L '^hosts_kit$' -j 4 || true
    part "hosts" 240 tests_of release -L '^hosts$' -j 4 || true
    part "slurm_kit" 90 tests_of release -L '^slurm_kit$' -j 4 || true
    part "slurm" 240 tests_of release -L '^slurm$' -j 4 || true
    test_kinds release
    part "pypi torch" 650 check_pypi_torch release "$pytorch_tests" \
        "$long_pytorch_tests" || true
}
check_sources() {
    give_way
    part "build asan" 700 build asan all || true
    part "clang-tidy" 400 check_tidy || true
    part "fuzzers" 400 check_fuzzers || true
    part "includes" 200 check_includes || true
}

# What runs on many hosts has done so in the preset release, and what reads the project's texts. So
# have the longest of the others, which tests/long.sh runs by this preset, too.
test_asan() {
    local long='in every story of two nodes|what was written down|^worker: (examples/|models/'
    long+='|optimizers/optimizers_test|snapshots/snapshot_crash'
    long+='|training/(interruption|parity|stop_request))'
    [[ -e $results/built.asan.all ]] || return 0
    part "test asan" 700 tests_of asan -LE '^(hosts|slurm|tidy)' -E "$long" -j 3 || true
}
check_rules_matter() {
    give_way
    if part "mutations" 450 check_mutations; then cat "$results/mutations"; fi
}

run_all() {
    check_rules release
    part "quick start" 400 check_quick_start || true
    part "build release" 600 build release all || true
    beside test_release check_sources
    beside test_asan check_rules_matter
    fail_needless_skips
}

what=${1:-}
case $what in
    --all) .ci/packages.sh build data test ci slurm ;;
    --quick) .ci/packages.sh build test ci ;;
    "") .ci/packages.sh build data test ;;
    *) echo "usage: tests/run.sh [--quick | --all]" >&2; exit 2 ;;
esac
if lacks_libuv; then export USE_LIBUV=0; fi
[[ -z $what ]] || check_texts
case $what in
    --all) run_all ;;
    --quick) run_quick ;;
    "") run_default ;;
esac
echo "all parts: $SECONDS s"
summary
