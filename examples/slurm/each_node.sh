#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time=01:00:00
srun --cpu-bind=none ddprun --standalone --nproc-per-node=auto ./train
