#!/bin/bash
#SBATCH --nodes=4 --time=24:00:00
#SBATCH --requeue --open-mode=append --signal=USR1@300
ddprun --on-signal=USR1=snapshot-exit --requeue=20 --snapshot=run/snapshot.pt ./train
