#!/bin/bash
#SBATCH --nodes=4 --time=01:00:00
ddprun --nproc-per-node=auto ./train
