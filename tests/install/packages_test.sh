#!/usr/bin/env bash
# What .ci/packages.sh says on a system that is neither Debian nor Ubuntu, which is pretended: PATH
# has no apt, commands that do nothing, and a compiler that knows one header.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
system=$folder/system
mkdir "$system"
for name in bash env grep head sort; do
    ln -s "$(type -P "$name")" "$system/$name"
done

# has COMMAND...: from now on.
has() {
    local name
    for name in "$@"; do ln -s "$(type -P true)" "$system/$name"; done
}

# expect SETS TEXT: TEXT is in what it says of these sets, or is empty as that is.
expect() {
    local said sets
    read -r -a sets <<<"$1"
    said=$(env -i PATH="$system" "$SOURCE/.ci/packages.sh" "${sets[@]}" 2>&1) ||
        fail "$1: it failed: $said"
    [[ ${2:+x} == "${said:+x}" && $said == *"$2"* ]] || fail "$1: it does not say '$2': $said"
}

expect "build" "not looked for: doctest-dev, "
expect "build" "not found: cmake (cmake), g++ or clang++ (g++), ninja or ninja-build (ninja-build)"
has cmake ninja-build
cat >"$system/g++" <<'END'
#!/usr/bin/env bash
grep '__has_include(<sodium[.]h>)' >/dev/null
END
chmod +x "$system/g++"
expect "build" "png.h (libpng-dev), torch/csrc/api/include/torch/version.h or torch/version.h"
expect "build" "not found: doctest/doctest.h (doctest-dev), "
expect "build" "nlohmann/json.hpp (nlohmann-json3-dev), zlib.h (zlib1g-dev)"
expect "test" "Python's h5py (python3-h5py)"
has clang++ clang-format
expect "ci" "not looked for: libclang-rt"
has munged sbatch slurmctld slurmd
expect "slurm" ""
