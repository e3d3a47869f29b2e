#!/bin/bash
#SBATCH --nodes=1 --time=01:00:00
#SBATCH hetjob
#SBATCH --nodes=1
export DDPRUN_RDZV_ENDPOINT=$SLURMD_NODENAME DDPRUN_RDZV_ID=$SLURM_JOB_ID
srun --het-group=0,1 ddprun --nnodes=2 ./train
