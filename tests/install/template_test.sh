#!/usr/bin/env bash
# examples/template, as a user builds and runs it with the installed runtime, by DDPRUN if that is
# set, else by the ddprun that is installed beside it.
# shellcheck source=tests/install/kit.sh
source "$(dirname "$0")/kit.sh"
install_build

cp -r "$SOURCE/examples/template" "$folder/project"
cd "$folder/project"
# Not the template's Release: LibTorch's headers take the least time with neither -O nor -g.
quietly "$CMAKE" -S . -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_PREFIX_PATH="$prefix"
quietly "$CMAKE" --build build

ddprun=${DDPRUN:-$prefix/bin/ddprun}

# run EPOCHS: leaves what it printed in `said`.
run() {
    said=$(CUDA_VISIBLE_DEVICES='' timeout 100 "$ddprun" -f job.yaml -- "$1" 2>&1) ||
        fail "the job failed: $said"
}
run 2
[[ $said == *"epoch 1 on 2 ranks, loss "* ]] || fail "no second epoch on two ranks: $said"
[[ -e run/snapshot.pt ]] || fail "no snapshot where job.yaml says"
run 3
[[ $said != *"epoch 1 "* && $said == *"epoch 2 "* ]] || fail "it did not go on from there: $said"
