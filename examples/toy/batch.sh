#!/bin/bash
#SBATCH --nodes=2 --cpus-per-task=2 --time=00:10:00
#SBATCH --requeue --open-mode=append
ddprun --nproc-per-node=auto --max-restarts=3 --requeue=20 --snapshot=toy/snapshot.pt toy 50 10 "$@"
