#!/bin/bash
#SBATCH --nodes=16 --gpus-per-node=4 --time=00:30:00
# sbatch examples/imagenet/batch.sh, in a folder with ILSVRC2012's train/ and val/ in
# imagenet/; words after the script's name replace its own, such as --synthetic --steps 2.
[ $# -gt 0 ] || set -- --batch-size=128 --data=imagenet
ddprun --nproc-per-node=gpu --snapshot="${SNAPSHOT:-run/snapshot.pt}" imagenet "$@"
