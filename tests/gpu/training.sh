# Shell functions for tests/gpu.sh: training, and snapshots that a GPU and a CPU share.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

# train_toy NAME TOTAL_EPOCHS SAVE_EVERY
train_toy() {
    local name=$1
    shift
    run_job "$name" --nproc-per-node="$gpus" --snapshot snapshot.pt "$folder/bin/toy" "$@"
}

test_training() {
    expect "toy ends well" train_toy toy 20 10
    expect "C++ workers add up tensors of GPUs" run_job sums --nproc-per-node="$gpus" \
        "$folder/bin/sums" 2
    expect "tensors of GPUs go through NCCL" uses_nccl sums
    expect "a C++ worker ends its group" ends_group sums
    expect "C++ workers that share a GPU add up over Gloo" adds_up_over_gloo
    expect "PyTorch's DDP trains over Gloo on a shared GPU" \
        run_job fit_gloo --nproc-per-node=$((gpus + 1)) python3 "$worker" fit 50 gloo
    expect "gradients of C++ workers go through NCCL, if there are several" reduces_by_nccl toy
    expect "PyTorch reads toy's snapshot" read_by_pytorch toy 20
    expect "toy goes on from the GPU's snapshot on the CPU" goes_on toy 20 40 CUDA_VISIBLE_DEVICES=
    expect "PyTorch reads what the CPU has saved" read_by_pytorch toy 40
    expect "toy goes on from the CPU's snapshot on the GPU" goes_on toy 40 60
    expect "PyTorch saves tensors of a GPU" \
        run_in pytorch python3 "$worker" write_snapshot snapshot.pt
    expect "toy goes on from PyTorch's snapshot on the GPU" goes_on pytorch 3 5
    expect "PyTorch saves tensors of a GPU again" \
        run_in pytorch python3 "$worker" write_snapshot snapshot.pt
    expect "toy goes on from PyTorch's snapshot on the CPU" \
        goes_on pytorch 3 5 CUDA_VISIBLE_DEVICES=
    expect "fashion_mnist ends well" run_job fashion_mnist --nproc-per-node="$gpus" \
        --snapshot snapshot.pt "$folder/bin/fashion_mnist" --data "$data"
    expect "fashion_mnist learns" shows fashion_mnist 'test accuracy: (8|9)[0-9]'
    expect "fashion_mnist learns the same on GPU and CPU" learns_the_same
    expect "a loss that is no number ends fashion_mnist, and no snapshot has it" names_nan
    expect "PyTorch's DDP has the same loss under torchrun and ddprun" same_loss
    expect "PyTorch's DDP goes through NCCL under ddprun" uses_nccl fit_ddprun
}

# One worker more than there are GPUs, each of which adds a 1.
adds_up_over_gloo() {
    run_job sums_gloo --nproc-per-node=$((gpus + 1)) "$folder/bin/sums" 2 gloo &&
        shows sums_gloo "round 1: $((gpus + 1))\$"
}

# reduces_by_nccl NAME: a single rank has nothing to reduce, and makes no communicator.
reduces_by_nccl() {
    if ((gpus > 1)); then uses_nccl "$1"; else ! shows "$1" 'Init COMPLETE'; fi
}

# read_by_pytorch NAME EPOCHS
read_by_pytorch() {
    run_in "$1" env CUDA_VISIBLE_DEVICES= python3 "$worker" read_snapshot snapshot.pt &&
        grep "^epochs: $2," "$last_log"
}

# goes_on NAME FROM TO [ASSIGNMENT]: toy trains on in the folder of that job.
goes_on() {
    local name=$1 from=$2 to=$3
    shift 3
    (
        export "${@:-GPU_NOTHING=}"
        train_toy "$name" "$to" 5
    ) || return 1
    grep "Resuming training from snapshot at Epoch $from\$" "$logs/$name.log"
}

# The numbers of dropout differ between the two, so the losses do too, a little.
learns_the_same() {
    local device
    local job=(--nproc-per-node=1 "$folder/bin/fashion_mnist" --data "$data" --train-images 3200)
    run_job learns_gpu "${job[@]}" || return 1
    CUDA_VISIBLE_DEVICES='' run_job learns_cpu "${job[@]}" || return 1
    for device in gpu cpu; do
        sed -n 's/.* loss \([0-9.]*\), .*/\1/p' "$logs/learns_$device.log" | tail -n 1
        sed -n 's/.*accuracy: \([0-9.]*\) .*/\1/p' "$logs/learns_$device.log"
    done | paste -s -d ' ' | tee "$logs/learns" | awk '{
        print "GPU: loss", $1, "accuracy", $2, "% CPU: loss", $3, "accuracy", $4, "%"
        exit !($1 > 0.8 * $3 && $1 < 1.25 * $3 && $2 > $4 - 4 && $2 < $4 + 4) }' || return 1
    fact "fashion_mnist, loss and accuracy on GPU, then CPU: $(cat "$logs/learns")"
}

# A GPU's loss is read a step late, though before the next snapshot.
names_nan() {
    local options=(--data "$data" --epochs 1 --snapshot-every 1 --lr 1e30)
    ends_with 1 run_job nan --nproc-per-node=1 --snapshot snapshot.pt "$folder/bin/fashion_mnist" \
        "${options[@]}" || return 1
    shows nan 'error: the loss is (nan|inf|-inf) in epoch 0, step [0-9]+ on rank 0' &&
        run_in nan python3 -c 'import torch
for value in torch.load("snapshot.pt", weights_only=True)["MODEL_STATE"].values():
    assert not value.isnan().any()'
}

same_loss() {
    local name
    run_in fit_torchrun python3 -m torch.distributed.run --standalone --nproc-per-node="$gpus" \
        "$worker" fit || return 1
    run_job fit_ddprun --nproc-per-node="$gpus" python3 "$worker" fit || return 1
    for name in torchrun ddprun; do
        grep -Eo 'loss [0-9.]+ on cuda' "$logs/fit_$name.log" || return 1
    done | uniq | { ! sed 1d | grep .; }
}
