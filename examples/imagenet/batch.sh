#!/bin/bash
#SBATCH --nodes=16 --gpus-per-node=4 --time=00:30:00
# sbatch examples/imagenet/batch.sh, in a folder with the program and with ILSVRC2012's train/ and
# val/ in imagenet/; words after the script's name replace --data, such as --synthetic --steps 2.
ddprun --nproc-per-node=gpu --snapshot=run/snapshot.pt \
    ./imagenet --batch-size=128 "${@:---data=imagenet}"
