#!/bin/bash
#SBATCH --nodes=4 --gpus-per-node=4 --time=00:15:00
# sbatch examples/hymenoptera/batch.sh, in a folder with hymenoptera_data; words after the script's
# name replace --data, such as --synthetic --steps 2.
ddprun --nproc-per-node=gpu --snapshot="${SNAPSHOT:-run/snapshot.pt}" \
    hymenoptera "${@:---data=hymenoptera_data}"
