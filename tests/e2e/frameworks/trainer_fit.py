"""A script in the manner of Hugging Face's examples: options by HfArgumentParser, everything else
by its Trainer. The losses are the same by any launcher."""

import torch
from transformers import HfArgumentParser, Trainer, TrainingArguments, set_seed

from at_end import end_without_teardown


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def forward(self, inputs, labels):
        outputs = self.line(inputs)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "logits": outputs}


def main():
    options = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]
    set_seed(7)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    samples = [{"inputs": x, "labels": 3 * x + 1} for x in inputs]
    trainer = Trainer(model=Line(), args=options, train_dataset=samples, eval_dataset=samples)
    trainer.train()
    loss = trainer.evaluate()["eval_loss"]
    if trainer.is_world_process_zero():
        print(f"{options.world_size} processes, loss {loss:.6f}", flush=True)
    end_without_teardown()


main()
