"""PyTorch's own store, to measure beside ddprun's.

Usage: tcp_store.py PORT_FILE. Writes its port there, and serves until its standard input ends.
"""

import os
import sys

import torch.distributed

store = torch.distributed.TCPStore(
    "127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=True
)
with open(sys.argv[1] + ".new", "w", encoding="ascii") as file:
    print(store.port, file=file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
sys.stdin.read()
