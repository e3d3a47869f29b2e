# Shell functions for tests/gpu.sh: ResNet-18 in three types of numbers, beside PyTorch's DDP, which
# has the same weights and pictures. Both are measured in turns.
# shellcheck shell=bash source=tests/gpu/kit.sh
source tests/gpu/kit.sh

test_resnet18() {
    local type round rounds=${GPU_ROUNDS:-3}
    for type in float32 float16 bfloat16; do
        for ((round = 1; round <= rounds; ++round)); do
            expect "ResNet-18 in $type has PyTorch's losses, round $round" \
                trains_as_pytorch "$type" "$round" || break
        done
        fact "ResNet-18 in $type, first and last loss: $(losses_of ddprun), PyTorch's" \
            "$(losses_of torchrun)"
        ratio "img/s of ResNet-18 in $type" "resnet18_$type"
    done
}

# trains_as_pytorch TYPE ROUND: 60 steps with 128 pictures on each rank, by both.
trains_as_pytorch() {
    local name names=(ddprun torchrun)
    (($2 % 2 == 1)) || names=(torchrun ddprun)
    for name in "${names[@]}"; do "resnet18_by_$name" "$1" 60 || return 1; done
    for name in "${names[@]}"; do
        sed -n 's/.* \([0-9]*\) img\/s$/\1/p' "$logs/resnet18_$name.log" \
            >>"$logs/resnet18_$1.$name"
    done
    echo "$(losses_of ddprun) $(losses_of torchrun)" | losses_agree
}

resnet18_by_ddprun() {
    rm -f "$work/resnet18_ddprun/snapshot.pt"*  # with which it would be over
    run_job resnet18_ddprun --nproc-per-node="$gpus" "$folder/bin/resnet18" "$@"
}
resnet18_by_torchrun() { torchrun_job resnet18_torchrun "$worker" resnet18 "$@"; }

losses_of() { sed -n 's/.*losses \([0-9.]* [0-9.]*\),.*/\1/p' "$logs/resnet18_$1.log"; }

# The first ones differ by rounding alone, the last ones by what 60 steps make of it.
losses_agree() {
    awk '{
        print "C++: first loss", $1, "last", $2, "Python: first loss", $3, "last", $4
        exit !(NF == 4 && $1 > 0.98 * $3 && $1 < 1.02 * $3 && $2 < 0.8 * $1 && $4 < 0.8 * $3) }'
}
