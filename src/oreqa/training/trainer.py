"""The frame of all trainings: fitting with checkpoints, precision, and the files of a trained model's folder."""

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
    """One pass over ``examples`` in their order, or all rounds of them; the model is saved to ``out``. Returns steps, losses
    and seconds.

    With ``early_stopping`` its metric is evaluated at every checkpoint, and the best model is the one that is saved.

    Resumes from the last checkpoint under ``out/checkpoints`` if there is one; ``seconds`` are then those since that step,
    which is returned as ``seconds_since_step``.
    """
    skip_cudnn_attention()
    checkpoints = checkpoints_of(out)
    at_a_time = optimiser.accumulate * int(os.environ.get("WORLD_SIZE", "1"))  # batches of a step, of all processes
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
    if trainer.is_world_process_zero():  # of the processes under torchrun, one saves
        with name_save_errors(out):
            (save or model.save_pretrained)(out)
        for file in out.rglob("*.safetensors"):  # safetensors lets nobody else read what it writes
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
    """Train from the last checkpoint, if there is one, to the last of ``steps``; returns the step resumed from, too.

    Raises DivergedError if a loss or a weight is not finite; the checkpoints are removed then.
    """
    is_first = trainer.is_world_process_zero()
    saved = last_saved_step(checkpoints) if is_first else 0
    last = from_first_process(last_whole_checkpoint(checkpoints) if is_first else None)
    resumed = 0 if last is None else int(last.name.rpartition("-")[2])
    with show(progress, _start(resumed, saved), steps - resumed) as advance:
        trainer.add_callback(ReportsSteps(advance, resumed))
        trainer.add_callback(SavesAsAsked())
        if last is None and is_first:  # the rounds begin anew, too
            remove(checkpoints)
        try:
            result = trainer.train(resume_from_checkpoint=last and str(last))
            if not all(weights.isfinite().all() for weights in trainer.model.parameters()):
                raise DivergedError(result.global_step)
        except DivergedError:
            if is_first:  # a run with other settings must not be refused because of them
                remove(checkpoints)
            raise
    return result, resumed


def _start(resumed: int, saved: int) -> str:
    """What is done, for the progress: where the run begins, and that what it ``saved`` last cannot be used."""
    if saved > resumed:
        begin = f"step {resumed:,}" if resumed else "the start"
        return f"training from {begin} (what was saved at step {saved:,} is damaged or incomplete)"
    return f"training from step {resumed:,}" if resumed else "training"


def _kept(early_stopping: EarlyStopping | None, dev: list[list[Any]]) -> dict[str, Any]:
    """Which checkpoint the saved model is, and the metric ``dev`` at the steps where it was measured."""
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
        logging_steps=gcd(20, optimiser.checkpoint_steps),  # means that no interruption cuts
        save_steps=optimiser.checkpoint_steps,
        save_total_limit=2,
        remove_unused_columns=False,
        ddp_broadcast_buffers=False,  # all processes have the same, and may call the model a different number of times
        ddp_find_unused_parameters=False,  # a call encodes questions or passages, the loss of a step has gradients of all
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_num_workers=2 if torch.cuda.is_available() else 0,  # a GPU would wait for batches to be padded
        report_to=[],
        seed=seed,
        **stopping,
    )


def epoch_batches(examples: Sequence[Any] | Rounds, epochs: int, batch: int) -> float:
    """Batches of an epoch in each process, of the ``examples`` that ``fit`` takes."""
    count = examples.batches if not isinstance(examples, Sequence) else len(examples) / epochs / batch
    return count / int(os.environ.get("WORLD_SIZE", "1"))


def uses_bf16(precision: str) -> bool:
    """Whether to compute in bf16: as the recipe says or, if it says auto, the choice for the process.

    auto in both is bf16 on a GPU, or on a processor that multiplies it in hardware; i8 is f32.
    """
    if precision == "auto":
        precision = chosen_precision()
    if precision == "auto":
        return torch.cuda.is_available() or encoder_precision() == "bf16"
    return precision == "bf16"


@contextmanager
def evaluated(model: torch.nn.Module, precision: str) -> Iterator[torch.device]:
    """The model as it is, without dropout and gradients, in the recipe's ``precision``; gives its device."""
    device = next(model.eval().parameters()).device
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=uses_bf16(precision)):
        yield device


def dev_batches(
    examples: Sequence[Any], collate: Callable[[Sequence[Any]], TensorBatch], size: int, device: torch.device
) -> Iterator[TensorBatch]:
    """Batches of a dev set, on the device."""
    for begin in range(0, len(examples), size):
        yield {name: value.to(device) for name, value in collate(examples[begin : begin + size]).items()}


def dev_folder(model: PreTrainedModel, tokenizer: Path, out: Path) -> Path:
    """This process's folder, beside the checkpoints, of a model in training: its settings and ``tokenizer``, no weights."""
    folder = checkpoints_of(out) / f"dev-{process_number()[0]}"  # processes must not write the same files
    model.config.save_pretrained(folder)
    copy_tokenizer(tokenizer.parent, folder)
    return folder


TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json",
)  # fmt: skip


def copy_tokenizer(backbone: Path, out: Path) -> None:
    """Copy the backbone's tokenizer, so that the trained model's folder stands alone."""
    for name in TOKENIZER_FILES:
        if (backbone / name).is_file():
            shutil.copyfile(backbone / name, out / name)
