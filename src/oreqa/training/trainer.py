"""What all trainings share: the loop (transformers' Trainer), precision, checkpoints."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import gcd
from pathlib import Path
from typing import Any, Protocol

import torch
import transformers
from torch import Tensor
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from oreqa.errors import InputError
from oreqa.models.graph.precision import chosen_precision, encoder_precision
from oreqa.models.graph.torch import skip_cudnn_attention
from oreqa.progress import Advance, Progress, no_progress, show
from oreqa.training.distributed import process_number
from oreqa.training.recipes import Optimiser

Tensors = dict[str, Tensor]
Loss = Callable[[Any, Tensors], Tensor]
"""The loss of a model on a batch, a number that can be differentiated."""


class Rounds(Protocol):
    """Several passes over examples, each in batches that are made when it begins, of the model as it then is."""

    @property
    def count(self) -> int:
        """How many rounds."""
        ...

    @property
    def batches(self) -> int:
        """Batches of each round."""
        ...

    def begin(self, number: int) -> Sequence[Sequence[Any]]:
        """The batches of a round. A run that resumes in the middle of it asks again, and gets the same."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyStopping:
    """Stop when ``dev_metric``, a value to maximise, has not risen at ``patience`` checkpoints in a row."""

    dev_metric: Callable[[], float]
    patience: int


def fit(
    model: PreTrainedModel,
    examples: Sequence[Any] | Rounds,
    collate: Callable[[Sequence[Any]], Tensors],
    loss: Loss,
    *,
    optimiser: Optimiser,
    seed: int,
    out: Path,
    progress: Progress = no_progress,
    save: Callable[[Path], None] | None = None,
    early_stopping: EarlyStopping | None = None,
) -> dict[str, Any]:
    """One pass over ``examples`` in their order, or all rounds of them; the model is saved to ``out``. Returns steps, losses
    and seconds.

    With ``early_stopping`` its metric is evaluated at every checkpoint, and the best model is the one that is saved.

    Resumes from the last checkpoint under ``out/checkpoints`` if there is one; ``seconds`` are then those since that step,
    which is returned as ``seconds_since_step``.
    """
    if optimiser.tensorboard and find_spec("tensorboard") is None:
        raise InputError("optimiser.tensorboard: the package is missing; pip install tensorboard, or set it to false")
    skip_cudnn_attention()
    checkpoints = checkpoints_of(out)
    at_a_time = optimiser.accumulate * int(os.environ.get("WORLD_SIZE", "1"))  # batches of a step, of all processes
    if isinstance(examples, Sequence):
        rounds, data, count = None, _ListDataset(examples), 1
        steps = -(-len(examples) // (optimiser.batch * at_a_time))
    else:
        rounds = _RoundBatches(examples)
        data, count = _Examples(len(rounds)), examples.count
        steps = count * -(-len(rounds) // at_a_time)
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=count,
        per_device_train_batch_size=optimiser.batch,
        gradient_accumulation_steps=optimiser.accumulate,
        train_sampling_strategy="sequential",
        learning_rate=optimiser.learning_rate,
        warmup_steps=optimiser.warmup,
        weight_decay=optimiser.weight_decay,
        max_grad_norm=optimiser.clip,
        lr_scheduler_type="linear" if optimiser.schedule == "linear" else "constant_with_warmup",
        bf16=uses_bf16(optimiser.precision),
        use_cpu=not torch.cuda.is_available(),
        logging_steps=gcd(20, optimiser.checkpoint_steps),  # means that no interruption cuts
        save_steps=optimiser.checkpoint_steps,
        save_total_limit=2,
        remove_unused_columns=False,
        ddp_broadcast_buffers=False,  # all processes have the same, and may call the model a different number of times
        ddp_find_unused_parameters=False,  # a call encodes questions or passages, the loss of a step has gradients of all
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_num_workers=2 if torch.cuda.is_available() else 0,  # a GPU would wait for batches to be padded
        report_to=["tensorboard"] if optimiser.tensorboard else [],
        seed=seed,
        **({} if early_stopping is None else {**_EARLY_STOPPING, "eval_steps": optimiser.checkpoint_steps}),
    )
    trainer = _OrderedTrainer(
        loss,
        rates=(optimiser.learning_rate, optimiser.head_learning_rate or optimiser.learning_rate),
        early_stopping=early_stopping,
        model=model,
        args=arguments,
        train_dataset=data,
        data_collator=collate,
        rounds=rounds,
    )
    last = _last_whole_checkpoint(checkpoints)
    resumed = 0 if last is None else int(last.rpartition("-")[2])
    with show(progress, f"training from step {resumed:,}" if resumed else "training", steps - resumed) as advance:
        trainer.add_callback(_Advance(advance, resumed))
        trainer.add_callback(_SavesAsAsked())
        if last is None and trainer.is_world_process_zero():  # the rounds begin anew, too
            shutil.rmtree(checkpoints, ignore_errors=True)
        try:
            result = trainer.train(resume_from_checkpoint=last)
            if not all(weights.isfinite().all() for weights in model.parameters()):
                raise DivergedError(result.global_step)
        except DivergedError:
            if trainer.is_world_process_zero():  # a run with other settings must not be refused because of them
                shutil.rmtree(checkpoints, ignore_errors=True)
            raise
    history = trainer.state.log_history
    if trainer.is_world_process_zero():  # of the processes under torchrun, one saves
        (save or model.save_pretrained)(out)
        for file in out.rglob("*.safetensors"):  # safetensors lets nobody else read what it writes
            shutil.copymode(next(out.rglob("*.json")), file)
        shutil.rmtree(checkpoints, ignore_errors=True)
    losses = [[row["step"], round(row["loss"], 4)] for row in history if "loss" in row]
    record = {
        "steps": result.global_step,
        "losses": losses or [[result.global_step, round(result.training_loss, 4)]],
        "seconds": round(result.metrics["train_runtime"], 1),
    }
    if early_stopping is not None:
        record["dev"] = [[row["step"], row["eval_dev"]] for row in history if "eval_dev" in row]
    return {**record, "seconds_since_step": resumed} if resumed else record


class DivergedError(InputError):
    """The loss, or a weight, is no finite number any more."""

    def __init__(self, step: int) -> None:
        super().__init__(
            f"training diverged at step {step:,}: its loss is not a finite number; set optimiser.learning_rate lower, or "
            "weights and scales of its losses"
        )


def epoch_batches(examples: Sequence[Any] | Rounds, epochs: int, batch: int) -> float:
    """Batches of an epoch in each process, of what ``fit`` is called with."""
    count = examples.batches if not isinstance(examples, Sequence) else len(examples) / epochs / batch
    return count / int(os.environ.get("WORLD_SIZE", "1"))


def checkpoints_of(out: Path) -> Path:
    """The folder of a training run's checkpoints, and of what else a run needs to resume; it is removed in the end."""
    return out / "checkpoints"


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Keep transformers from printing what does not concern the user (new heads, loading bars) inside of this."""
    verbosity, bars = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()


def _last_whole_checkpoint(checkpoints: Path) -> str | None:
    """The last checkpoint that was written to its end: its state, which is written last, can be read. Others are removed."""
    while checkpoints.is_dir() and (last := get_last_checkpoint(checkpoints)) is not None:
        try:
            json.loads((Path(last) / "trainer_state.json").read_bytes())
            return str(last)
        except (OSError, ValueError):  # the run was interrupted while it wrote
            shutil.rmtree(last, ignore_errors=True)
    return None


def uses_bf16(precision: str) -> bool:
    """Whether to compute in bf16: as the recipe says or, if it says auto, the choice for the process.

    auto in both is bf16 on a GPU, or on a processor that multiplies it in hardware; i8 is f32.
    """
    if precision == "auto":
        precision = chosen_precision()
    if precision == "auto":
        return torch.cuda.is_available() or encoder_precision() == "bf16"
    return precision == "bf16"


def copy_tokenizer(backbone: Path, out: Path) -> None:
    """A trained model's folder holds its backbone's tokenizer, so that it stands alone."""
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (backbone / name).is_file():
            shutil.copyfile(backbone / name, out / name)


_EARLY_STOPPING = {
    "eval_strategy": "steps",
    "load_best_model_at_end": True,
    "metric_for_best_model": "dev",
    "greater_is_better": True,
    "restore_callback_states_from_checkpoint": True,
}


class _Advance(TrainerCallback):  # type: ignore[misc]
    """Reports steps, but those of an earlier, interrupted run, whose time is not known."""

    def __init__(self, advance: Advance, resumed: int) -> None:
        self._advance, self._reported = advance, resumed

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(state.global_step - self._reported)
        self._reported = state.global_step


class _SavesAsAsked(TrainerCallback):  # type: ignore[misc]
    """A resumed run saves as often as it is told to now: transformers would go on as often as before."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        state.save_steps, state.logging_steps = args.save_steps, args.logging_steps


class _EvaluateLastStep(TrainerCallback):  # type: ignore[misc]
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True


class _ListDataset(torch.utils.data.Dataset):  # type: ignore[misc]
    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, number: int) -> Any:
        return self._examples[number]


class _Examples(torch.utils.data.Dataset):  # type: ignore[misc]
    """What a sampler of ``count`` batches draws from that gives the examples themselves."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, example: Any) -> Any:
        return example


class _RoundBatches(torch.utils.data.Sampler):  # type: ignore[misc]
    """The batches of the round at hand; of several processes each gets its own, and all get as many."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds, self._batches = rounds, rounds.batches
        self.number: Callable[[], int] = lambda: 0
        """The number of the round at hand."""

    def __len__(self) -> int:
        return -(-self._batches // process_number()[1])

    def __iter__(self) -> Iterator[Sequence[Any]]:
        rank, processes = process_number()
        batches = self._rounds.begin(self.number())
        for first in range(0, len(batches), processes):
            yield batches[(first + rank) % len(batches)]


class _OrderedTrainer(Trainer):  # type: ignore[misc]
    """Trainer with our loss, two learning rates (of every encoder, in a ``bert``, and of the heads) and a metric of our
    own.

    It prints nothing, and sees the examples in the order in which they are given, or which ``rounds`` give.
    """

    def __init__(
        self,
        loss: Loss,
        rates: tuple[float, float],
        early_stopping: EarlyStopping | None,
        rounds: _RoundBatches | None,
        **arguments: Any,
    ) -> None:
        if early_stopping is not None:
            callbacks = [EarlyStoppingCallback(early_stopping.patience), _EvaluateLastStep()]
            arguments |= {"eval_dataset": _ListDataset(()), "callbacks": callbacks}
        super().__init__(**arguments)
        self._loss, self._rates, self._early_stopping, self._rounds = loss, rates, early_stopping, rounds
        for printer in (ProgressCallback, PrinterCallback):
            self.remove_callback(printer)

    def get_train_dataloader(self) -> Any:
        """Batches of examples in their order, or those that a round makes when it begins."""
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

    def create_optimizer(self, model: Any = None) -> Any:
        """AdamW; only matrices decay."""
        groups = []
        for heads, rate in zip((False, True), self._rates, strict=True):
            weights = [
                weight
                for name, weight in self.model.named_parameters()
                if weight.requires_grad and heads != ("bert" in name.split("."))
            ]
            groups.append({"params": [p for p in weights if p.ndim > 1], "lr": rate})
            groups.append({"params": [p for p in weights if p.ndim == 1], "lr": rate, "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, weight_decay=self.args.weight_decay, fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Tensors, **_: Any) -> Tensor:
        loss = self._loss(model, inputs)
        if not loss.isfinite():
            raise DivergedError(self.state.global_step + 1)
        return loss

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Refuse a checkpoint whose weights have other names: it would be resumed with the model's first weights."""
        if load_result.unexpected_keys:
            raise InputError(
                f"{self.args.output_dir}: its checkpoints were made by another version of oreqa; remove them to begin anew"
            )
        super()._issue_warnings_after_load(load_result)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """The dev metric of the model as it is."""
        assert self._early_stopping is not None
        metrics = {"eval_dev": self._early_stopping.dev_metric()}
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self.model.train()
        return metrics
