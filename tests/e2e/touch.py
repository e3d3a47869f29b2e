"""A worker for the lines of PyTorch's launcher tests: it does what its options say."""
import argparse
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--touch-file-dir", help="leave a file named by the rank there")
parser.add_argument("--fail", action="store_true", help="end by an exception")
parser.add_argument("--out-file", help="write there whether a launcher runs this")
parser.add_argument("--init-method", help="make a process group by it, and reduce once")
options = parser.parse_args()

for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR",
             "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
             "TORCHELASTIC_RUN_ID", "TEST_SENTINEL"):
    if name not in os.environ:
        sys.exit(f"{name} is not set")
if options.fail:
    raise RuntimeError("as it was asked to")
if options.touch_file_dir:
    with open(os.path.join(options.touch_file_dir, os.environ["RANK"]), "w"):
        pass
if options.out_file:
    with open(options.out_file, "w") as file:
        file.write(str("TORCHELASTIC_RUN_ID" in os.environ))
if options.init_method:
    try:
        import torch
        import torch.distributed as distributed
    except ImportError:
        print("skipped: no PyTorch")
        sys.exit(0)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import agent_store
    if not agent_store.is_usable():
        print("skipped: PyTorch was built without libuv")
        sys.exit(0)
    distributed.init_process_group("gloo", init_method=options.init_method,
                                   rank=int(os.environ["RANK"]),
                                   world_size=int(os.environ["WORLD_SIZE"]))
    one = torch.ones(1)
    distributed.all_reduce(one)
    assert one.item() == int(os.environ["WORLD_SIZE"])
    distributed.destroy_process_group()
    print("reduced")
