#!/bin/bash
#SBATCH --nodes=4 --time=01:00:00
#SBATCH --no-kill
ddprun --nnodes=2:4 --max-restarts=3 --nproc-per-node=auto --snapshot=run/snapshot.pt ./train
