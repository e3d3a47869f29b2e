#!/bin/bash
#SBATCH --nodes=4 --time=24:00:00
#SBATCH --requeue --open-mode=append
ddprun --requeue=20 --nproc-per-node=auto --snapshot=run/snapshot.pt ./train
