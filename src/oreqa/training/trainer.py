"""The common part of all training: fitting with checkpoints, precision, and the files of a trained model's folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import gcd
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, TrainingArguments
from transformers.trainer_utils import TrainOutput

from oreqa.files import remove
from oreqa.models.graph.precision import chosen_precision, encoder_precision
from oreqa.models.graph.torch import skip_cudnn_attention
from oreqa.progress import Progress, no_progress, show
from oreqa.training.checkpoints import checkpoints_of, last_saved_step, last_whole_checkpoint, name_save_errors
from oreqa.training.distributed import from_first_process, process_number
from oreqa.training.loop import (
    BatchLoss,
    DivergedError,
    EarlyStopping,
    GivenExamples,
    ListDataset,
    OrderedTrainer,
    ReportsSteps,
    RoundBatches,
    Rounds,
    SavesAsAsked,
    TensorBatch,
)
from oreqa.training.recipes import Optimiser


def fit(
    model: PreTrainedModel,
    examples: Sequence[Any] | Rounds,
    collate: Callable[[Sequence[Any]], TensorBatch],
    loss: BatchLoss,
    *,
    optimiser: Optimiser,
    seed: int,
    out: Path,
    progress: Progress = no_progress,
    save: Callable[[Path], None] | None = None,
    early_stopping: EarlyStopping | None = None,
) -> dict[str, Any]:
    """Train for one pass over ``examples`` in order, or all rounds of them, and save to ``out``.

    Returns steps, losses and seconds. With ``early_stopping``, its metric is evaluated at every checkpoint, and the best
    model is saved.

    Resumes from the last checkpoint under ``out/checkpoints`` if there is one; ``seconds`` then counts from that step, which
    is returned as ``seconds_since_step``.
    """
    skip_cudnn_attention()
    checkpoints = checkpoints_of(out)
    at_a_time = optimiser.accumulate * int(os.environ.get("WORLD_SIZE", "1"))  # batches per step, in all processes
    if isinstance(examples, Sequence):
        rounds, data, count = None, ListDataset(examples), 1
        steps = -(-len(examples) // (optimiser.batch * at_a_time))
    else:
        rounds = RoundBatches(examples)
        data, count = GivenExamples(len(rounds)), examples.count
        steps = count * -(-len(rounds) // at_a_time)
    stopping = {} if early_stopping is None else _stopping_arguments(early_stopping, optimiser.checkpoint_steps)
    trainer = OrderedTrainer(
        loss,
        rates=(optimiser.learning_rate, optimiser.head_learning_rate or optimiser.learning_rate),
        early_stopping=early_stopping,
        model=model,
        args=_arguments(optimiser, checkpoints, count, seed, **stopping),
        train_dataset=data,
        data_collator=collate,
        rounds=rounds,
    )
    result, resumed = _train(trainer, checkpoints, steps, progress)
    trainer.accelerator.wait_for_everyone()  # all have loaded the best checkpoint before it is removed
    history = trainer.state.log_history
    if trainer.is_world_process_zero():  # under torchrun, one process saves
        with name_save_errors(out):
            (save or model.save_pretrained)(out)
        for file in out.rglob("*.safetensors"):  # safetensors makes its files readable only by the owner
            shutil.copymode(next(out.rglob("*.json")), file)
        remove(checkpoints)
    record = {
        "steps": result.global_step,
        "losses": [[row["step"], round(row["loss"], 4)] for row in history if "loss" in row]
        or [[result.global_step, round(result.training_loss, 4)]],
        "seconds": round(result.metrics["train_runtime"], 1),
        **_kept(early_stopping, [[row["step"], row["eval_dev"]] for row in history if "eval_dev" in row]),
    }
    return {**record, "seconds_since_step": resumed} if resumed else record


def _train(trainer: OrderedTrainer, checkpoints: Path, steps: int, progress: Progress) -> tuple[TrainOutput, int]:
    """Train from the last checkpoint, if there is one, to the last of ``steps``; also return the step resumed from.

    Raises DivergedError if a loss or a weight is not finite, and removes the checkpoints.
    """
    is_first = trainer.is_world_process_zero()
    saved = last_saved_step(checkpoints) if is_first else 0
    last = from_first_process(last_whole_checkpoint(checkpoints) if is_first else None)
    resumed = 0 if last is None else int(last.name.rpartition("-")[2])
    with show(progress, _start(resumed, saved), steps - resumed) as advance:
        trainer.add_callback(ReportsSteps(advance, resumed))
        trainer.add_callback(SavesAsAsked())
        if last is None and is_first:  # the rounds start over, too
            remove(checkpoints)
        try:
            result = trainer.train(resume_from_checkpoint=last and str(last))
            if not all(weights.isfinite().all() for weights in trainer.model.parameters()):
                raise DivergedError(result.global_step)
        except DivergedError:
            if is_first:  # they must not make a run with other settings refuse
                remove(checkpoints)
            raise
    return result, resumed


def _start(resumed: int, saved: int) -> str:
    """Return a progress message: where the run begins, and whether what it ``saved`` last cannot be used."""
    if saved > resumed:
        begin = f"step {resumed:,}" if resumed else "the start"
        return f"training from {begin} (what was saved at step {saved:,} is damaged or incomplete)"
    return f"training from step {resumed:,}" if resumed else "training"


def _kept(early_stopping: EarlyStopping | None, dev: list[list[Any]]) -> dict[str, Any]:
    """Return which checkpoint was saved as the model, and the ``dev`` metric at each measured step."""
    if early_stopping is None:
        return {"checkpoint": {"kept": "last", "reason": "no dev set is measured"}}
    values = [value for _, value in dev]
    best = values.index(min(values) if early_stopping.lower_is_better else max(values))
    return {"dev": dev, "checkpoint": {"kept": "best", "step": dev[best][0], early_stopping.metric: values[best]}}


def _stopping_arguments(early_stopping: EarlyStopping, steps: int) -> dict[str, Any]:
    return {
        "eval_strategy": "steps",
        "eval_steps": steps,
        "load_best_model_at_end": True,
        "metric_for_best_model": "dev",
        "greater_is_better": not early_stopping.lower_is_better,
        "restore_callback_states_from_checkpoint": True,
    }


def _arguments(optimiser: Optimiser, checkpoints: Path, epochs: int, seed: int, **stopping: Any) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=epochs,
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
        logging_steps=gcd(20, optimiser.checkpoint_steps),  # means that no interruption splits
        save_steps=optimiser.checkpoint_steps,
        save_total_limit=2,
        remove_unused_columns=False,
        ddp_broadcast_buffers=False,  # equal in all processes, which may call the model a different number of times
        ddp_find_unused_parameters=False,  # a call encodes questions or passages; a step has gradients of all
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_num_workers=2 if torch.cuda.is_available() else 0,  # a GPU would wait for padding
        report_to=[],
        seed=seed,
        **stopping,
    )


def epoch_batches(examples: Sequence[Any] | Rounds, epochs: int, batch: int) -> float:
    """Return the number of batches per epoch in each process, for the ``examples`` of ``fit``."""
    count = examples.batches if not isinstance(examples, Sequence) else len(examples) / epochs / batch
    return count / int(os.environ.get("WORLD_SIZE", "1"))


def uses_bf16(precision: str) -> bool:
    """Return whether to compute in bf16: the recipe's choice or, for auto, that of the process.

    If both are auto, bf16 is used on a GPU, or on a processor that multiplies it in hardware; i8 means f32.
    """
    if precision == "auto":
        precision = chosen_precision()
    if precision == "auto":
        return torch.cuda.is_available() or encoder_precision() == "bf16"
    return precision == "bf16"


@contextmanager
def evaluated(model: torch.nn.Module, precision: str) -> Iterator[torch.device]:
    """Run the block with the model in evaluation mode, in the recipe's ``precision``; yields its device."""
    device = next(model.eval().parameters()).device
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=uses_bf16(precision)):
        yield device


def dev_batches(
    examples: Sequence[Any], collate: Callable[[Sequence[Any]], TensorBatch], size: int, device: torch.device
) -> Iterator[TensorBatch]:
    """Yield batches of a dev set, on the device."""
    for begin in range(0, len(examples), size):
        yield {name: value.to(device) for name, value in collate(examples[begin : begin + size]).items()}


def dev_folder(model: PreTrainedModel, tokenizer: Path, out: Path) -> Path:
    """Return this process's folder for a model in training, beside the checkpoints: settings, ``tokenizer``, no weights."""
    folder = checkpoints_of(out) / f"dev-{process_number()[0]}"  # processes must not write the same files
    model.config.save_pretrained(folder)
    copy_tokenizer(tokenizer.parent, folder)
    return folder


TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json",
)  # fmt: skip


def copy_tokenizer(backbone: Path, out: Path) -> None:
    """Copy the backbone's tokenizer, so that the trained model's folder is self-contained."""
    for name in TOKENIZER_FILES:
        if (backbone / name).is_file():
            shutil.copyfile(backbone / name, out / name)
