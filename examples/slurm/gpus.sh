#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=2 --cpus-per-task=4 --time=01:00:00
ddprun --nproc-per-node=gpu ./train
