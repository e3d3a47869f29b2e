#!/bin/bash
#SBATCH --nodes=2 --time=01:00:00
# sbatch examples/dogs_vs_cats/batch.sh --data FOLDER --weights FILE: a worker for each GPU, or for
# each core.
ddprun --nproc-per-node=auto --max-restarts=3 --snapshot=dogs_vs_cats/snapshot.pt dogs_vs_cats "$@"
