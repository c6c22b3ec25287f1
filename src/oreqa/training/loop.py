"""transformers' Trainer with our loss, two learning rates, a fixed order of examples and a dev metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import PartialState
from torch import Tensor
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
)

from oreqa.errors import InputError
from oreqa.progress import Advance
from oreqa.training.checkpoints import name_save_errors, seal_checkpoint
from oreqa.training.distributed import process_number

TensorBatch = dict[str, Tensor]
BatchLoss = Callable[[Any, TensorBatch], Tensor]
"""The differentiable loss of a model on a batch."""


class Rounds(Protocol):
    """Several passes over examples, each with batches created when it begins, using the current model."""

    @property
    def count(self) -> int:
        """Return the number of rounds."""
        ...

    @property
    def batches(self) -> int:
        """Return the number of batches per round."""
        ...

    def begin(self, number: int) -> Sequence[Sequence[Any]]:
        """Return the batches of a round. A run that resumes within it asks again, and gets the same."""
        ...


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Keep the best checkpoint by a metric, and stop when it has not improved at ``patience`` checkpoints in a row."""

    metric: str
    """The metric's name."""
    measure: Callable[[], float]
    """Returns its value for the current model. It may leave the model in evaluation mode."""
    patience: int
    lower_is_better: bool = False


class DivergedError(InputError):
    """The loss, or a weight, is no longer finite."""

    def __init__(self, step: int) -> None:
        super().__init__(
            f"training diverged at step {step:,}: its loss is not a finite number; set optimiser.learning_rate lower, or "
            "weights and scales of its losses"
        )


class ReportsSteps(TrainerCallback):  # type: ignore[misc]
    """Reports the steps of this run, without those before it was resumed."""

    def __init__(self, advance: Advance, resumed: int) -> None:
        self._advance, self._reported = advance, resumed

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(state.global_step - self._reported)
        self._reported = state.global_step


class SavesAsAsked(TrainerCallback):  # type: ignore[misc]
    """Makes a resumed run save as often as now configured, and find its best checkpoint if its folder was moved.

    transformers would keep the earlier interval and path. Checkpoints get checksums.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        state.save_steps, state.logging_steps = args.save_steps, args.logging_steps
        if state.best_global_step:
            state.best_model_checkpoint = str(Path(args.output_dir) / f"checkpoint-{state.best_global_step}")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        PartialState().wait_for_everyone()  # each process writes its random state
        if state.is_world_process_zero:
            seal_checkpoint(Path(args.output_dir) / f"checkpoint-{state.global_step}")


class _StopEarly(EarlyStoppingCallback):  # type: ignore[misc]
    """Makes a resumed run that had already stopped early train no further."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.early_stopping_patience_counter >= self.early_stopping_patience:
            control.should_training_stop, control.should_save = True, False


class _EvaluateLastStep(TrainerCallback):  # type: ignore[misc]
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True


class ListDataset(torch.utils.data.Dataset):  # type: ignore[misc]
    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, number: int) -> Any:
        return self._examples[number]


class GivenExamples(torch.utils.data.Dataset):  # type: ignore[misc]
    """The dataset for a sampler that yields ``count`` batches of examples rather than of indices."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, example: Any) -> Any:
        return example


class RoundBatches(torch.utils.data.Sampler):  # type: ignore[misc]
    """The batches of the current round, split evenly among processes."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds, self._batches = rounds, rounds.batches
        self.number: Callable[[], int] = lambda: 0
        """Returns the number of the current round."""

    def __len__(self) -> int:
        return -(-self._batches // process_number()[1])

    def __iter__(self) -> Iterator[Sequence[Any]]:
        rank, processes = process_number()
        batches = self._rounds.begin(self.number())
        for first in range(
            0, len(batches), processes
        ):  # all processes request the same ones: together they create the next ones
            yield [batches[(first + each) % len(batches)] for each in range(processes)][rank]


class OrderedTrainer(Trainer):  # type: ignore[misc]
    """Trainer with our loss and metric, and two learning rates: of every encoder, and of the heads.

    It prints nothing, and sees the examples in their given order, or in that of ``rounds``.
    """

    def __init__(
        self,
        loss: BatchLoss,
        rates: tuple[float, float],
        early_stopping: EarlyStopping | None,
        rounds: RoundBatches | None,
        **arguments: Any,
    ) -> None:
        if early_stopping is not None:
            callbacks = [_StopEarly(early_stopping.patience), _EvaluateLastStep()]
            arguments |= {"eval_dataset": ListDataset(()), "callbacks": callbacks}
        super().__init__(**arguments)
        self._loss, self._rates, self._early_stopping, self._rounds = loss, rates, early_stopping, rounds
        for printer in (ProgressCallback, PrinterCallback):
            self.remove_callback(printer)

    def get_train_dataloader(self) -> Any:
        """Return batches of examples in order, or those that each round creates when it begins."""
        rounds = self._rounds
        if rounds is None:
            return super().get_train_dataloader()
        steps = -(-len(rounds) // self.args.gradient_accumulation_steps)
        rounds.number = lambda: self.state.global_step // steps
        return torch.utils.data.DataLoader(
            self.train_dataset,
            batch_sampler=rounds,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def get_batch_samples(self, *arguments: Any) -> Any:
        """Return the batches of a step; none for a resumed run that had already stopped."""
        return ([], None) if self.control.should_training_stop else super().get_batch_samples(*arguments)

    def create_optimizer(self, model: Any = None) -> Any:
        """Create AdamW; only matrices decay."""
        groups, encoders = [], _encoder_parameters(self.model)
        for heads, rate in zip((False, True), self._rates, strict=True):
            weights = [
                weight for weight in self.model.parameters() if weight.requires_grad and heads != (id(weight) in encoders)
            ]
            groups.append({"params": [p for p in weights if p.ndim > 1], "lr": rate})
            groups.append({"params": [p for p in weights if p.ndim == 1], "lr": rate, "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, weight_decay=self.args.weight_decay, fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: TensorBatch, **_: Any) -> Tensor:
        loss = self._loss(model, inputs)
        if not loss.isfinite():
            raise DivergedError(self.state.global_step + 1)
        return loss

    def _save_checkpoint(self, *arguments: Any) -> None:
        """Save a checkpoint; torch raises a RuntimeError if the disk is full."""
        with name_save_errors(Path(self.args.output_dir), RuntimeError):
            super()._save_checkpoint(*arguments)

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Refuse a checkpoint whose weights have other names: it would be resumed with the initial weights."""
        if load_result.unexpected_keys:
            raise InputError(
                f"{self.args.output_dir}: its checkpoints were made by another version of oreqa; remove them to begin anew"
            )
        super()._issue_warnings_after_load(load_result)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the metric of the current model."""
        assert self._early_stopping is not None
        metrics = {"eval_dev": self._early_stopping.measure()}
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self.model.train()
        return metrics


def _encoder_parameters(model: torch.nn.Module) -> set[int]:
    """Return the ids of the parameters of a model's encoders: the innermost transformers models."""
    theirs = [module for module in model.modules() if isinstance(module, PreTrainedModel)]
    bare = [module for module in theirs if sum(isinstance(part, PreTrainedModel) for part in module.modules()) == 1]
    return {id(weight) for module in bare for weight in module.parameters()}
