#!/bin/bash
#SBATCH --nodes=5 --gpus-per-node=4 --cpus-per-task=40 --mem=96G --time=02:00:00
#SBATCH --partition=rocm
#SBATCH --requeue --open-mode=append
# When the job ends, also by its time limit, Slurm ends this step on each node by SIGTERM.
copies=/tmp/cifar-$SLURM_JOB_ID
srun --overlap --ntasks-per-node=1 \
    sh -c "trap exit TERM; trap 'rm -rf $copies' EXIT; sleep infinity & wait" &
ddprun --nproc-per-node=gpu --max-restarts=3 --requeue=20 --snapshot=lightning/snapshot.pt \
    lightning --log=lightning/runs --copy-to="$copies" "$@"
