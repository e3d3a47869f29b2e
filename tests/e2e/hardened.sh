#!/usr/bin/env bash
# hardened.sh PROGRAM SOURCE_DIR CONFIG: fails if PROGRAM lacks what hardening.cmake asks for.
# -fstack-clash-protection leaves no trace that could be read.
set -euo pipefail
program=$1 sources=$2 config=$3
missing=0

# wants WHAT PATTERN READELF_OPTION: says which property is missing.
wants() {
    readelf -W "$3" "$program" | grep -E "$2" >/dev/null && return
    echo "$program: $1 is missing: readelf $3 shows no '$2'"
    missing=1
}

# A sanitizer's build has other aims.
if readelf -Ws "$program" | grep __asan_init >/dev/null; then
    echo "skipped: the sanitizer finds such errors itself"
    exit 77
fi
wants "position independence" 'FLAGS_1.* PIE' -d
wants "binding before main()" 'FLAGS_1.* NOW' -d
wants "a read-only table of relocations" 'GNU_RELRO' -l
wants "a stack that cannot be run" 'GNU_STACK .* RW  ' -l
wants "a guard on the stack" '__stack_chk_fail' --dyn-syms
if [[ $config != Debug ]]; then
    wants "a check of the sizes of buffers" '__read_chk' --dyn-syms
    if grep -F "$sources/" "$program" >/dev/null; then
        echo "$program tells where it was built, $sources: -ffile-prefix-map is missing"
        missing=1
    fi
fi
exit "$missing"
