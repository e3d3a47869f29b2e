#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --time=01:00:00
srun ddprun ./train
