#!/usr/bin/env bash
# Another compiler than the one that the installed runtime was compiled by.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"

other=clang++ name=Clang
[[ $COMPILER != Clang ]] || other=g++ name=GNU
command -v "$other" >/dev/null || { echo "skipped: $other is not installed"; exit 0; }
install_build

if CXX=$other "$CMAKE" -S "$SOURCE/examples/template" -B "$folder/build" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log" 2>&1; then
    fail "$other was taken, and the runtime was compiled by $COMPILER"
fi
said=$(tr -s ' \n' ' ' <"$folder/log")
[[ $said == *"compiled by $COMPILER, and this project is by $name, "* ]] ||
    fail "the message does not name both: $said"
