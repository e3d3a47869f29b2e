#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --time=01:00:00
#SBATCH --no-kill
srun --no-kill --cpu-bind=none ddprun --nnodes=2:4 --nproc-per-node=auto ./train
