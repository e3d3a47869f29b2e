"""A fit by Lightning on two processes, which it finds by the variables of torchrun or of Slurm. It
saves, and stops early."""

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

from at_end import end_without_teardown


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _):
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    lightning.seed_everything(7)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    samples = DataLoader(TensorDataset(inputs, 3 * inputs + 1), batch_size=8)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, num_nodes=1, strategy="ddp", max_epochs=20, logger=False,
        callbacks=[ModelCheckpoint("checkpoints", monitor="loss"),
                   EarlyStopping("loss", min_delta=0.5)])
    trainer.fit(Line(), samples)
    if trainer.is_global_zero:
        best = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=True)
        print(f"{trainer.world_size} processes, loss {trainer.callback_metrics['loss']:.6f} "
              f"after {trainer.current_epoch} epochs, the best after {best['epoch'] + 1}")
    end_without_teardown()


main()
