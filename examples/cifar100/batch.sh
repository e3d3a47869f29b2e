#!/bin/bash
#SBATCH --nodes=2 --time=00:30:00
# sbatch examples/cifar100/batch.sh --data FOLDER: a worker for each GPU, or for each core.
ddprun --nproc-per-node=auto --max-restarts=3 --snapshot=cifar100/snapshot.pt cifar100 "$@"
