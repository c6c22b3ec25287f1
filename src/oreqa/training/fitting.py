"""What all trainings share: the loop (transformers' Trainer), precision, checkpoints."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from math import gcd
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from torch.utils.data import SequentialSampler
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
from oreqa.training.recipes import Optimiser

Loss = Callable[[Any, dict[str, Tensor]], Tensor]
Stage = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]
"""Shows a stage of the work: called with its name and its number of steps, it gives what is called with steps done."""


@contextmanager
def silent(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A stage that shows nothing."""
    yield lambda steps: None


def fit(
    model: PreTrainedModel,
    examples: Sequence[Any],
    collate: Callable[[Sequence[Any]], dict[str, Tensor]],
    loss: Loss,
    optimiser: Optimiser,
    seed: int,
    out: Path,
    stage: Stage = silent,
    save: Callable[[Path], None] | None = None,
    measure: Callable[[], float] | None = None,
    patience: int = 3,
) -> dict[str, Any]:
    """One pass over ``examples`` in their order; the model is saved to ``out``. Returns steps, losses and seconds.

    With ``measure``, which gives what shall be high, the model is measured at every checkpoint; training ends when
    ``patience`` measures bring no gain, and the best model is the one that is saved.

    A run that was interrupted goes on from the last checkpoint under ``out/checkpoints``; its seconds are then those since
    that step, ``seconds_since_step``.
    """
    if optimiser.tensorboard and find_spec("tensorboard") is None:
        raise InputError("optimiser.tensorboard: the package is missing; pip install tensorboard, or set it to false")
    keep_memory()
    skip_cudnn_attention()
    checkpoints = out / "checkpoints"
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=1,
        per_device_train_batch_size=optimiser.batch,
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
        ddp_broadcast_buffers=False,  # they never change, and processes may call the model a different number of times
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_num_workers=2 if torch.cuda.is_available() else 0,  # a GPU would wait for batches to be padded
        report_to=["tensorboard"] if optimiser.tensorboard else [],
        seed=seed,
        **({} if measure is None else _MEASURED | {"eval_steps": optimiser.checkpoint_steps}),
    )
    rates = (optimiser.learning_rate, optimiser.head_learning_rate or optimiser.learning_rate)
    given = {"model": model, "args": arguments, "train_dataset": _Listed(examples), "data_collator": collate}
    if measure is not None:
        given |= {"eval_dataset": _Listed(()), "callbacks": [EarlyStoppingCallback(patience), _MeasureLast()]}
    trainer = _Fitting(loss, rates, measure, **given)
    for printer in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(printer)
    with stage("training", -(-len(examples) // optimiser.batch)) as advance:
        trainer.add_callback(_Advance(advance))
        last = get_last_checkpoint(checkpoints) if checkpoints.is_dir() else None
        done = trainer.train(resume_from_checkpoint=last)
    if trainer.is_world_process_zero():  # of the processes under torchrun, one saves
        (save or model.save_pretrained)(out)
    losses = [[row["step"], round(row["loss"], 4)] for row in trainer.state.log_history if "loss" in row]
    if trainer.is_world_process_zero():
        shutil.rmtree(checkpoints, ignore_errors=True)
    record = {"steps": done.global_step, "losses": losses, "seconds": round(done.metrics["train_runtime"], 1)}
    if measure is not None:
        record["dev"] = [[row["step"], row["eval_dev"]] for row in trainer.state.log_history if "eval_dev" in row]
    return record if last is None else {**record, "seconds_since_step": int(last.rpartition("-")[2])}


def quieten() -> None:
    """Keep transformers from printing what does not concern the user: new heads, loading bars."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def keep_memory() -> None:
    """Let the C library keep what tensors leave behind.

    glibc hands large blocks back to the kernel and gets them back zeroed at every step, which on a processor takes up to
    half of a training's time. Does nothing with another C library.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 1 << 28)):
            mallopt(parameter, value)


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h


class _Advance(TrainerCallback):  # type: ignore[misc]
    """Tells a stage of steps; of those of an earlier, interrupted run at once."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance, self._told = advance, 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(state.global_step - self._told)
        self._told = state.global_step


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


_MEASURED = {
    "eval_strategy": "steps", "load_best_model_at_end": True, "metric_for_best_model": "dev", "greater_is_better": True,
    "restore_callback_states_from_checkpoint": True,
}  # fmt: skip


class _MeasureLast(TrainerCallback):  # type: ignore[misc]
    """Measures after the last step, too."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True


class _Listed(torch.utils.data.Dataset):  # type: ignore[misc]
    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, number: int) -> Any:
        return self._examples[number]


class _Fitting(Trainer):  # type: ignore[misc]
    """Trainer with our loss, and examples in the order in which they were drawn."""

    def __init__(
        self, loss: Loss, rates: tuple[float, float], measure: Callable[[], float] | None, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self._loss, self._rates, self._measure = loss, rates, measure

    def create_optimizer(self, model: Any = None) -> Any:
        """AdamW; only matrices decay."""
        groups = []
        for heads, rate in zip((False, True), self._rates, strict=True):
            own = [p for n, p in self.model.named_parameters() if p.requires_grad and heads != n.startswith("bert.")]
            groups.append({"params": [p for p in own if p.ndim > 1], "lr": rate})
            groups.append({"params": [p for p in own if p.ndim == 1], "lr": rate, "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, weight_decay=self.args.weight_decay, fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], **_: Any) -> Tensor:
        return self._loss(model, inputs)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """The measure of the model as it is."""
        assert self._measure is not None
        metrics = {"eval_dev": self._measure()}
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self.model.train()
        return metrics

    def _get_train_sampler(self, train_dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(self.train_dataset)
