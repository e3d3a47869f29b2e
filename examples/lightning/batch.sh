#!/bin/bash
#SBATCH --nodes=5 --gpus-per-node=4 --cpus-per-task=40 --mem=96G --time=02:00:00
#SBATCH --partition=rocm
#SBATCH --requeue --open-mode=append
ddprun --nproc-per-node=gpu --max-restarts=3 --requeue=20 --snapshot=lightning/snapshot.pt \
    lightning --log=lightning/runs --copy-to="/tmp/cifar-$SLURM_JOB_ID" "$@"
