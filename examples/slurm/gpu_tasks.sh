#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2 --cpus-per-task=2 --time=01:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
srun ddprun ./train
