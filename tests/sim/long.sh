#!/usr/bin/env bash
# Plays for hours: votes, claims, a witness, batch scripts' jobs and relays, each with 2 to 9
# hosts, of which one to all are needed, so many seeds each, from FIRST on; and a tenth as many
# variants of each scenario.
# Prints a line for each kind, the seeds that break a promise, and the cells that none has reached.
# Exits with 1 if a seed breaks one, or if the simulator has not come to its end.
#   tests/sim/long.sh COUNT [FIRST]
# JOBS says how many at once. What it says is put down in RESULTS.md by hand.
set -euo pipefail
cd "$(dirname "$0")/../.."
count=${1:?how many seeds of each kind} first=${2:-1000001}

cmake --preset release -DDDPRUN_WORKER=OFF >/dev/null
cmake --build --preset release --target sim >/dev/null
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

play() {  # KIND HOSTS
    local wishes=(--hosts "$2" "--$1" --cells)
    [[ $1 == witness ]] && wishes+=(--votes)
    build/release/bin/sim --seeds "$first-$((first + count - 1))" "${wishes[@]}" \
        >"$results/$1-$2" || true
    echo "$1, $2 hosts: $(grep ' stories, ' "$results/$1-$2")"
    sed -n "s/^seed \([0-9]*\): /    sim --seeds \1 ${wishes[*]}: /p" "$results/$1-$2"
}
vary() {  # SCENARIO
    build/release/bin/sim --seeds "$first-$((first + count / 10 - 1))" --near "$1" \
        >"$results/near-$(basename "$1" .txt)" || true
    echo "$1: $(grep ' stories, ' "$results/near-$(basename "$1" .txt)")"
    sed -n "s/^seed \([0-9]*\) near \([^:]*\): /    sim --seeds \1 --near \2: /p" \
        "$results/near-$(basename "$1" .txt)"
}
export -f play vary
export results first count

for kind in votes claims witness anchored relays; do
    for hosts in 2 3 4 5 6 7 8 9; do echo "$kind $hosts"; done
done | xargs -P "${JOBS:-2}" -L 1 bash -c 'play "$@"' play

printf '%s\n' tests/sim/scenarios/*.txt |
    xargs -P "${JOBS:-2}" -L 1 bash -c 'vary "$@"' vary

runs=$(find "$results" -type f ! -name 'near-*' | wc -l)
cat "$results"/* | grep '^never reached: .*, which cannot happen' | sort -u || true
cat "$results"/* | grep '^never reached: ' | grep -v 'cannot happen' | sort | uniq -c |
    awk -v runs="$runs" '$1 == runs { $1 = ""; print substr($0, 2) }' || true
bad=$(grep -l '^seed ' "$results"/* || true; grep -L ' stories, ' "$results"/* || true)
[[ -z $bad ]]
