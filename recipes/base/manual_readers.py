"""Train mpnet-reader and minilm-reader on the groups of recipes/base/manual_groups.py.

Run:  python recipes/base/manual_readers.py --groups runs/questions/groups.npz --work runs/readers --device cuda

The teacher, mpnet-reader, is trained first, on the labels; its factors, biases, norms and heads are trained. Then the
pupil, minilm-reader, is trained on the labels and the teacher's probabilities. WORK then contains both as they are shipped:
mpnet-reader as factors in eight bits, minilm-reader as a difference in four bits. If the command is run again with the same
settings and groups, a finished reader is kept and an interrupted one starts again. The parameters fitted for the previous
readers (fitted.json) do not fit the new ones.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from group_file import GroupFile, collate_labelled, token_batches
from group_losses import Outputs, label_loss, pupil_loss
from peft.tuners.lora import LoraLayer
from torch import Tensor

from oreqa.defaults import BEST_READER, DEFAULT_READER
from oreqa.errors import InputError, ModelError
from oreqa.files import read_object, write_json
from oreqa.models.differences import DIFFERENCE
from oreqa.models.graph.tokenizer import load_tokenizer, read_template
from oreqa.models.graph.torch import load_module, usable_device
from oreqa.models.names import difference_base, find_model, find_tokenizer, load_tensors, model_fingerprint, read_config
from oreqa.models.pack.packing import pack_model
from oreqa.models.reader.inputs import read_reader_folder
from oreqa.models.reader.module import ReaderModel, read_groups
from oreqa.models.settings import encoder_prefix
from oreqa.models.weights import load_weights, uniform_name
from oreqa.provenance import data_hash, versions
from oreqa.training.backbone import start_headed
from oreqa.training.loop import TensorBatch
from oreqa.training.lora import save_difference
from oreqa.training.recipes import Lora

WARMUP = 40
"""Steps over which the learning rates rise; then they fall to 0."""
REPORT = 50
"""Steps between two reports of the mean loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How a reader is trained."""

    reader: str
    """The name or folder of the reader that training starts from, stored as a difference."""
    learning_rate: float
    """Of matrices: whole ones or factors."""
    slow_rate: float
    """Of biases, norms and heads."""
    dropout: float
    passes: float
    """Passes over the groups."""
    tokens: int
    """Tokens per step, including padding."""
    seed: int


def start_reader(folder: Path, dropout: float) -> ReaderModel:
    """Load a folder's reader for training: as factors beside its base if it is stored so, else whole.

    The embedding matrices are not trained. Raises ModelError for a reader that is not stored as a difference.
    """
    base = difference_base(folder)
    if base is None:
        raise ModelError(f"{folder}: it is not stored as a difference, as {BEST_READER} is; give one that is")
    rank = factor_rank(folder)
    kind: Callable[..., ReaderModel] = partial(ReaderModel, blocks=True)
    model: ReaderModel = start_headed(
        kind,
        folder,
        dropout=dropout,
        attention_dropout=0.0,
        freeze_embeddings=True,
        lora=None if rank is None else Lora(rank=rank),
        head=True,
        oreqa=read_config(folder)["oreqa"],
    )
    for weight in model.parameters():
        weight.requires_grad_(weight.requires_grad or weight.ndim == 1)
    if rank is not None:
        _part_factors(model, folder, base)
    return model


def _part_factors(model: ReaderModel, folder: Path, base: Path) -> None:
    """Split a whole model into the matrices of its ``base`` and the factors stored in ``folder``.

    Raises ModelError if a factor is not of a linear layer.
    """
    prefix, bases = encoder_prefix(read_config(base)), load_weights(base)
    stored = {uniform_name(name, prefix): value for name, value in load_tensors(folder / DIFFERENCE).items()}
    factored = {name.removesuffix(".a") for name in stored if name.endswith(".a")}
    layers = {name: module for name, module in model.named_modules() if isinstance(module, LoraLayer)}
    if others := sorted(factored - layers.keys()):
        raise ModelError(f"{folder}: it has factors of {others[0]}, which is no linear layer of the encoder")
    for name in factored:
        scales = [stored.get(f"{name}.{side}_scale", np.ones(1, np.float32)).astype(np.float32) for side in "ab"]
        a = stored[f"{name}.a"].astype(np.float32) * scales[0].reshape(-1, 1)
        b = stored[f"{name}.b"].astype(np.float32) * scales[1].reshape(1, -1)
        with torch.no_grad():
            layers[name].lora_A["default"].weight.copy_(torch.from_numpy(a))
            layers[name].lora_B["default"].weight.copy_(torch.from_numpy(b))
            layers[name].base_layer.weight.copy_(torch.from_numpy(bases[f"{name}.weight"]))


def factor_rank(folder: Path) -> int | None:
    """Return the rank of the factors that a reader is stored as; None if its difference is in four bits."""
    return max(
        (len(tensor) for name, tensor in load_tensors(folder / DIFFERENCE).items() if name.endswith(".a")), default=None
    )


def _load_factors(model: ReaderModel, difference: dict[str, Any], whole: dict[str, Any]) -> None:
    """Set a model's factors to those of a ``difference``, and its other trainable weights to those of ``whole``."""
    state = {}
    for name, module in model.named_modules():
        if isinstance(module, LoraLayer) and f"{name}.a" in difference:
            for side, axis in (("a", (-1, 1)), ("b", (1, -1))):
                factor = torch.from_numpy(difference[f"{name}.{side}"]).float()
                if (scale := difference.get(f"{name}.{side}_scale")) is not None:
                    factor = factor * torch.from_numpy(scale).float().reshape(axis)
                state[f"{name}.lora_{side.upper()}.default.weight"] = factor
    for name, weight in model.named_parameters():
        plain = name.replace(".base_layer.", ".")
        if weight.requires_grad and plain in whole:
            state[name] = torch.from_numpy(whole[plain])
    if unknown := model.load_state_dict(state, strict=False).unexpected_keys:
        raise ModelError(f"the model has no {unknown[0]}, which its difference has")


def teacher_numbers(pupil: Path, teacher: Path) -> Tensor:
    """Return the teacher's number for each token of the pupil's vocabulary. Raises InputError for a token that it lacks."""
    tokenizers = [load_tokenizer(find_tokenizer(folder)) for folder in (pupil, teacher)]
    ours, theirs = (tokenizer.get_vocab() for tokenizer in tokenizers)
    if missing := sorted(ours.keys() - theirs.keys()):
        raise InputError(f"{teacher}: its vocabulary lacks {missing[0]!r}: the teacher must have the pupil's tokens")
    numbers = torch.zeros(max(ours.values()) + 1, dtype=torch.long)
    for token, number in ours.items():
        numbers[number] = theirs[token]
    templates = [read_template(tokenizer, folder) for tokenizer, folder in zip(tokenizers, (pupil, teacher), strict=True)]
    for side in ("front", "between", "tail"):
        ids = [getattr(template, side)[0] for template in templates]
        numbers[ids[0]] = ids[1]
    return numbers


def train(
    model: ReaderModel,
    groups: GroupFile,
    loss: Callable[[ReaderModel, TensorBatch], Tensor],
    stage: Stage,
    device: str,
) -> dict[str, Any]:
    """Train a reader in place, in bfloat16 on a GPU; return the steps, the mean loss of every ``REPORT`` steps, and seconds.

    Raises InputError if a loss is not finite.
    """
    batches = draw_batches(groups, stage)
    loader = torch.utils.data.DataLoader(
        groups,
        batch_sampler=batches,
        collate_fn=collate_labelled,
        num_workers=8 if device == "cuda" else 0,
        pin_memory=device == "cuda",
    )
    model.to(device).train()
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    fast = [weight for name, weight in trained.items() if weight.ndim > 1 and not name.startswith("qa_")]
    slow = [weight for name, weight in trained.items() if weight.ndim == 1 or name.startswith("qa_")]
    rates = [{"params": fast, "lr": stage.learning_rate}, {"params": slow, "lr": stage.slow_rate}]
    optimiser = torch.optim.AdamW(rates, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / WARMUP) * (1 - step / len(batches))
    )
    losses: list[list[float]] = []
    recent: list[float] = []
    started = time.monotonic()
    for step, cpu_batch in enumerate(loader, 1):
        batch = {name: value.to(device, non_blocking=True) for name, value in cpu_batch.items()}
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            value = loss(model, batch)
        if not value.isfinite():
            raise InputError(f"training diverged at step {step:,}: its loss is not a finite number; lower the rates")
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimiser.step()
        schedule.step()
        recent.append(float(value.detach()))
        if step % REPORT == 0 or step == len(batches):
            losses.append([step, round(sum(recent) / len(recent), 4)])
            print(f"step {step:,} of {len(batches):,}: loss {losses[-1][1]}", flush=True)
            recent.clear()
    return {"steps": len(batches), "losses": losses, "seconds": round(time.monotonic() - started, 1)}


def draw_batches(groups: GroupFile, stage: Stage) -> Sequence[Sequence[int]]:
    """Return the group numbers of each step: every group once per pass; the last pass may be partial."""
    rng = random.Random(stage.seed)
    batches: list[list[int]] = []
    rest = stage.passes
    while rest > 0:
        drawn = token_batches(*groups.sizes(), stage.tokens, rng)
        batches += drawn[: max(1, round(rest * len(drawn)))]
        rest -= 1
    return batches


def finish(out: Path, recipe: dict[str, Any], make: Callable[[], dict[str, Any]]) -> None:
    """Let ``make`` make a reader in ``out``, unless run.json, written last, says that this ``recipe`` is finished."""
    if read_object(out / "run.json").get("recipe") == recipe:
        print(f"{out}: it is finished")
        return
    (out / "run.json").unlink(missing_ok=True)
    write_json(out / "run.json", {"recipe": recipe, **make(), "versions": versions()})


def train_both(groups: Path, work: Path, teacher: Stage, pupil: Stage, device: str) -> None:
    """Train the teacher, then the pupil, and pack both under ``work``."""
    usable_device(device)
    data, folders = GroupFile(groups), [find_model(stage.reader) for stage in (teacher, pupil)]
    recipes: list[dict[str, Any]] = [
        {**asdict(stage), "begins_as": model_fingerprint(folder), "groups_sha256": data_hash([groups])}
        for stage, folder in zip((teacher, pupil), folders, strict=True)
    ]
    recipes[1]["teacher"] = recipes[0]
    numbers = teacher_numbers(folders[1], folders[0]).to(device)
    outs = [work / "trained" / name for name in (BEST_READER, DEFAULT_READER)]

    def as_teacher(model: Any, batch: TensorBatch) -> Outputs:
        return read_groups(model, {**batch, "input_ids": numbers[batch["input_ids"]]})

    def make_teacher() -> dict[str, Any]:
        torch.manual_seed(teacher.seed)
        model = start_reader(folders[0], teacher.dropout)
        record = train(model, data, lambda m, batch: label_loss(as_teacher(m, batch), batch), teacher, device)
        save_difference(model, model.config.oreqa["difference_from"], outs[0])
        return record

    def make_pupil() -> dict[str, Any]:
        torch.manual_seed(pupil.seed)
        settings = read_reader_folder(outs[0])
        expert = load_module(partial(ReaderModel, blocks=True), settings, load_weights(outs[0]), device, None)
        model = start_reader(folders[1], pupil.dropout)

        def loss(module: ReaderModel, batch: TensorBatch) -> Tensor:
            with torch.no_grad():
                expected = as_teacher(expert, batch)
            return pupil_loss(read_groups(module, batch), expected, batch)

        record = train(model, data, loss, pupil, device)
        model.config.oreqa = {name: value for name, value in model.config.oreqa.items() if name != "difference_from"}
        model.save_pretrained(outs[1])
        return record

    for out, recipe, make, folder in zip(outs, recipes, (make_teacher, make_pupil), folders, strict=True):
        finish(out, recipe, make)
        settings = read_config(folder)["oreqa"]
        base, licence, rank = settings["difference_from"], settings["licence"], factor_rank(folder)
        size = pack_model(out, "reader", base, work / out.name, licence, rank)
        print(f"{work / out.name}: {size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=Path, required=True, help="the file that manual_groups.py wrote")
    parser.add_argument("--work", type=Path, default=Path("runs/readers"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--teacher", default=BEST_READER, help="the reader that the teacher begins as")
    parser.add_argument("--pupil", default=DEFAULT_READER, help="the reader that the pupil begins as")
    parser.add_argument("--tokens", type=int, default=64_000, help="tokens of a teacher's step; a pupil's has twice as many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    teacher = Stage(
        reader=options.teacher, learning_rate=2e-4, slow_rate=2e-5, dropout=0.1, passes=1.0, tokens=options.tokens,
        seed=options.seed,
    )  # fmt: skip
    pupil = Stage(
        reader=options.pupil, learning_rate=2e-4, slow_rate=1.5e-4, dropout=0.05, passes=1.4, tokens=2 * options.tokens,
        seed=options.seed,
    )  # fmt: skip
    train_both(options.groups, options.work, teacher, pupil, options.device)


if __name__ == "__main__":
    main()
