#!/usr/bin/env bash
# Plays seeds that the commit draws, so that each commit plays others; without git, the day draws.
#   tests/sim/drawn.sh SIM COUNT [WISHES...]
# Prints which, and for each that breaks a promise how to play it again.
set -uo pipefail
sim=$1 count=$2
shift 2

commit=$(git -C "$(dirname "$0")" rev-parse HEAD 2>/dev/null) || commit=$(date +%Y%m%d)
first=$((16#$(printf '%s' "$commit $*" | sha256sum | cut -c1-7) * 1000 + 1000001))
last=$((first + count - 1))
echo "seeds $first-$last, drawn from $commit"
"$sim" --seeds "$first-$last" "$@" | while IFS= read -r line; do
    echo "$line"
    if [[ $line =~ ^seed\ ([0-9]+): ]]; then
        echo "    again: sim --seeds ${BASH_REMATCH[1]} $* --print"
        echo "    smaller: sim --shrink ${BASH_REMATCH[1]} $*"
    fi
done
exit "${PIPESTATUS[0]}"
