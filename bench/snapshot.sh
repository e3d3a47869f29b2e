# Shell functions for bench/run.sh: how fast a large snapshot gets onto the disk, by the worker
# runtime, by torch.save() with fsync, and by dd, which only copies the same bytes out of memory.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

bench_snapshot() {
    local mib round
    for mib in 256 1024; do
        for ((round = 1; round <= $(rounds 7); ++round)); do
            snapshot_round "$mib" "$round"
        done
    done
}

# snapshot_round MIB ROUND: each writes a file that was not there, on a disk with nothing to do.
snapshot_round() {
    local mib=$1 round=$2 folder=$work/snapshots file
    fresh "$folder"
    snapshot_row "$mib" "$round" ddprun "$("$programs/write_snapshot" "$folder" "$mib")"
    file=$work/snapshot.pt
    mv "$(readlink -f "$folder/snapshot.pt")" "$file"
    cat "$file" >/dev/null  # into memory
    fresh "$folder"
    stopwatch dd if="$file" of="$folder/snapshot.pt" bs=1M conv=fsync
    snapshot_row "$mib" "$round" dd "$wall_s"
    rm -f "$file"
    [[ -n $python ]] || return 0
    fresh "$folder"
    snapshot_row "$mib" "$round" torch.save \
        "$("$python" bench/write_snapshot.py "$folder" "$mib")"
    fresh "$folder"
}

fresh() { rm -rf "$1"; mkdir -p "$1"; sync; }

# snapshot_row MIB ROUND COLUMN SECONDS: a row of MiB/s.
snapshot_row() {
    row "snapshot_$1" "$2" "$3" "$(awk -v mib="$1" -v s="$4" 'BEGIN { print mib / s }')"
}
