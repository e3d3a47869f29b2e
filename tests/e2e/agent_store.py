"""Whether PyTorch can use a launcher's store: Debian's from 2.4 on lacks the libuv it wants."""
import torch.distributed as dist


def is_usable():
    try:
        dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    except RuntimeError as error:
        if "without libuv" not in str(error):
            raise
        return False
    return True
