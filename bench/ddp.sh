# Shell functions for bench/run.sh: the same training in C++ under ddprun and in Python under
# torchrun, on the same LibTorch: two ranks with one thread each.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

ddp_options=(--train-images 12800)  # 200 steps of 2 times 32 images

bench_ddp() {
    local round column columns=(ddprun)
    [[ ${#torchrun[@]} -eq 0 ]] || columns+=(torchrun torchrun+malloc)
    if [[ ! -e /usr/share/datasets/fashion-mnist ]]; then
        missing "Debian's package dataset-fashion-mnist is not installed: nothing is trained."
        return 0
    fi
    for ((round = 1; round <= $(rounds 7); ++round)); do
        for column in $(in_turn "$round" "${columns[@]}"); do
            train_images "$round" "$column"
        done
    done
}

# train_images ROUND COLUMN
train_images() {
    local round=$1 column=$2 python_job
    python_job=("${torchrun[@]}" --standalone --nproc_per_node=2 bench/fashion_mnist.py
        "${ddp_options[@]}" --snapshot "$work/torchrun/snapshot.pt")
    case $column in
        ddprun)
            ddp_once "$round" "$column" "$ddprun" --standalone --nproc_per_node=2 \
                --snapshot "$work/ddprun/snapshot.pt" "$programs/fashion_mnist" "${ddp_options[@]}"
            ;;
        torchrun) ddp_once "$round" "$column" "${python_job[@]}" ;;
        torchrun+malloc)
            ddp_once "$round" "$column" env MALLOC_MMAP_THRESHOLD_=1073741824 \
                MALLOC_TRIM_THRESHOLD_=1073741824 "${python_job[@]}"
            ;;
    esac
}

# ddp_once ROUND COLUMN COMMAND...: the whole job's time, and the images a second that it reports,
# without its first report, in which LibTorch prepares what it keeps.
ddp_once() {
    local round=$1 column=$2
    shift 2
    rm -rf "$work/ddprun" "$work/torchrun"
    mkdir -p "$work/ddprun" "$work/torchrun"
    stopwatch "$@"
    row ddp_wall "$round" "$column" "$wall_s"
    row ddp_rate "$round" "$column" "$(sed -n 's/.* \([0-9]*\) img\/s$/\1/p' "$work/output" |
        tail -n +2 | sort -n | awk '{ rate[NR] = $1 }
            END { print (rate[int((NR + 1) / 2)] + rate[int(NR / 2) + 1]) / 2 }')"
    row ddp_accuracy "$round" "$column" \
        "$(sed -n 's/.*test accuracy: \([0-9.]*\) %.*/\1/p' "$work/output")"
}
