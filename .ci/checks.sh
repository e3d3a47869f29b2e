# Shell functions for tests/run.sh --all: what is checked without running the programs, and the one
# check with PyTorch from PyPI.
# shellcheck shell=bash source=.ci/parts.sh
source .ci/parts.sh

sources() {
    find launcher rendezvous worker examples bench tests -name '*.[ch]pp' -o -name '*.h' | sort
}

# check NAME COMMAND...: runs COMMAND and records it as one test.
check() {
    local name=$1 status=passed
    shift
    "$@" || status=failed
    record "$status" "$part_name: $name"
    [[ $status == passed ]]
}

check_format() {
    local files
    mapfile -t files < <(sources)
    check "clang-format of ${#files[@]} files" clang-format --dry-run --Werror "${files[@]}"
}

check_scripts() {
    local files
    mapfile -t files < <(grep -rlE '^#!.*\bbash|^# shellcheck shell=' .ci bench examples packaging \
        tests)
    check "shellcheck of ${#files[@]} scripts" shellcheck -x "${files[@]}"
}

check_manuals() {
    check "mandoc's lint of the man pages" mandoc -T lint -W warning man/*.[157]
}

check_site() {
    check "the site's HTML, links and bytes" packaging/test_site.sh
}

# A training that goes on after a worker was killed, by the preset release.
check_quick_start() {
    check "it trains, and goes on after a kill" examples/quickstart.sh
}

# drawn PARTS: one of so many parts of what one run need not see whole, by the commit, such as 2/6.
drawn() {
    local commit
    commit=$(git rev-parse HEAD 2>/dev/null) || commit=$(date +%Y)  # as drawn.sh does
    echo "$((16#${commit:0:4} % $1 + 1))/$1"
}

# What the preset asan compiles, as it compiles it: all sources of a target at once. Of the programs
# of examples, bench and tests, which take most of the time, a twelfth.
check_tidy() {
    local list="$results/tidy" twelfth
    twelfth=$(drawn 12)
    sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/asan/compile_commands.json |
        grep -v '/cmake_pch' |
        awk -v drawn="${twelfth%/12}" '
            !/\/asan\/(examples|bench|tests)\// || count++ % 12 + 1 == drawn
        ' >"$list"
    check "clang-tidy of $(wc -l <"$list") targets and programs" \
        xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/asan <"$list"
}

# A twelfth of the sources: all but the preset dev compile those of a target together.
check_includes() {
    cmake --preset dev &&
        check "each source has its includes" \
            python3 .ci/each_source.py build/dev "$jobs" "$(drawn 12)"
}

# A twelfth of the rules: each is taken away, and must be missed where the table says, which
# $results/mutations is.
check_mutations() {
    check "each rule that is taken away is missed" env JOBS="$jobs" \
        python3 tests/sim/mutations.py --replay --build build/mutations \
        --part "$(drawn 12)" | tee "$results/mutations"
}

# Beside the corpora, which are fed by the kind fuzz.
check_fuzzers() {
    check "each fuzzer finds nothing in 1 s" tests/fuzz/run.sh --only-search 1
}

# check_template PRESET PYTHON: examples/template with the installed runtime, both built with the
# LibTorch of its PyTorch, and the preset's ddprun.
check_template() {
    local build=build/template prefix
    prefix=$("$2" -c 'import torch; print(torch.utils.cmake_prefix_path)') &&
        cmake --preset release -B "$build" -DCMAKE_BUILD_TYPE=None -DDDPRUN_LAUNCHER=OFF \
            -DDDPRUN_TESTS=OFF -DDDPRUN_EXAMPLES=OFF -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$build" -j "$jobs" &&
        env BUILD="$build" CMAKE=cmake SOURCE="$PWD" DDPRUN="$PWD/build/$1/bin/ddprun" \
            tests/install/template_test.sh
}

# check_pypi_torch PRESET PATTERN LONG_PATTERN: the tests that run Python, of the long ones a half,
# by PyTorch's newest release and frameworks on it, in an environment that is thrown away; and a
# project with its LibTorch.
check_pypi_torch() {
    local venv="$results/venv" status=0 half
    local packages=(torch==2.15.0 torchvision==0.29.2 numpy lightning==2.6.6 accelerate==1.15.0
        transformers==5.24.0 tensorboard==2.21.0)
    if ! /usr/bin/python3 -m venv "$venv" ||
        ! "$venv/bin/pip" install --quiet --no-compile "${packages[@]}"; then
        record skipped "$part_name" "${packages[*]} cannot be had from PyPI here"
        return 0
    fi
    half=$(drawn 2)
    export TEST_PYTHON="$venv/bin/python" TEST_TORCHRUN="$venv/bin/torchrun"
    tests_of "$1" -R "$2" || status=1
    tests_of "$1" -R "$3" -I "${half%/2},,2" || status=1
    check "the template trains with ${packages[0]}" check_template "$1" "$TEST_PYTHON" || status=1
    unset TEST_PYTHON TEST_TORCHRUN
    rm -rf "$venv"
    return "$status"
}
