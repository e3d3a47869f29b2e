#!/usr/bin/env bash
# Another LibTorch than the one that the installed runtime was compiled with: that of TEST_PYTHON,
# if ctest's environment has it and it is another, or else a pretended one.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
install_build

other=$SOURCE/tests/worker/fake_torch version=99.1
if [[ -n ${TEST_PYTHON:-} ]]; then
    package=$("$TEST_PYTHON" -c 'import importlib.util
print(importlib.util.find_spec("torch").submodule_search_locations[0])')
    version_file=$package/share/cmake/Torch/TorchConfigVersion.cmake
    if [[ -e $version_file && ! $package/share/cmake -ef $TORCH_PREFIX ]]; then
        other=$package/share/cmake
        version=$(sed -n 's/set(PACKAGE_VERSION "\(.*\)")/\1/p' "$version_file")
    fi
fi
if "$CMAKE" -S "$SOURCE/examples/template" -B "$folder/build" -DFAKE_VERSION="$version" \
    -DCMAKE_PREFIX_PATH="$prefix;$other" >"$folder/log" 2>&1; then
    fail "LibTorch $version was taken, and the runtime was compiled with $TORCH"
fi
said=$(tr -s ' \n' ' ' <"$folder/log")
[[ $said == *"was compiled with $TORCH, and CMake finds LibTorch $version"*" in $other"* ]] ||
    fail "the message does not name both: $said"
