"""Train the larger reader: all of all-mpnet-base-v2, then a low-rank difference from it that ships.

Run:  python recipes/base/train.py --base all-mpnet-base-v2 --data ../shared/data --out runs/base-reader
      (six minutes on an H200; some days on two cores)

1. Full training: 2,527 steps of 64 questions as recipes/base/reader.toml draws them.
2. More look-alikes: 800 steps in which a question has up to four retrieved passages beside its own.
3. Low rank: each linear map's difference as two factors of rank 64, the best ones for the inputs it sees, trained on for 200
   steps towards the full model's probabilities; eight bits a value.

Writes difference.safetensors and run.json. Held-out articles are never trained on.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from mpnet import PADDING, MPNetReader, checkpoint_name
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from oreqa.losses.reading import selection_loss, span_loss
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.provenance import data_hash, versions
from oreqa.training.batches import similar_length_batches
from oreqa.training.reader.examples import Drawing, Group, reader_groups
from oreqa.training.reader.recipe import ReaderRecipe

RANK, SOFT, TEMPERATURE = 64, 0.75, 2.0
PASSAGES = 5
STEPS, RATES = {"full": 2527, "look-alikes": 800, "low rank": 200}, {"full": 5e-5, "look-alikes": 2.5e-5, "low rank": 1e-4}
Batch = dict[str, Tensor]
Loss = Callable[[tuple[Tensor, Tensor, Tensor], Batch], Tensor]


def collate(groups: Sequence[Group], device: str) -> Batch:
    """Windows as rows ``[N, T]``, with the question and the passage that each belongs to."""
    rows = [
        (g, p, w, s)
        for g, group in enumerate(groups)
        for p, (w, s) in enumerate(zip(group.windows, group.spans, strict=True))
    ]
    tokens = -(-max(len(window.ids) for _, _, window, _ in rows) // 32) * 32
    answers = max(1, *(len(spans) for *_, spans in rows))
    ids = torch.full((len(rows), tokens), PADDING)
    inside = torch.zeros(len(rows), tokens, dtype=torch.bool)
    places = torch.full((len(rows), answers, 2), -1)
    for row, (_, _, window, spans) in enumerate(rows):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
        inside[row, window.first : window.last] = True
        if spans:
            places[row, : len(spans)] = torch.tensor(spans)
    question, passage = (torch.tensor([row[k] for row in rows]) for k in (0, 1))
    batch = {"ids": ids, "inside": inside, "spans": places, "question": question, "passage": passage}
    return {name: tensor.to(device) for name, tensor in batch.items()}


def spread(rows: Tensor, batch: Batch, fill: float = 0.0) -> Tensor:
    """Rows ``[N, ...]`` as ``[questions, passages, ...]``."""
    shape = (int(batch["question"].max()) + 1, int(batch["passage"].max()) + 1, *rows.shape[1:])
    out = torch.full(shape, fill, dtype=rows.dtype, device=rows.device)
    out[batch["question"], batch["passage"]] = rows
    return out


def hard_loss(logits: tuple[Tensor, Tensor, Tensor], batch: Batch) -> Tensor:
    """Span likelihood over all passages of a question, and passage selection with the choice of none."""
    start, end, selection = logits
    spans = spread(batch["spans"], batch, -1)
    present = spread(torch.ones_like(selection), batch).bool()
    inside = spread(batch["inside"].float(), batch).bool()
    likelihood = span_loss(spread(start, batch), spread(end, batch), inside, spans, True)
    return likelihood + selection_loss(spread(selection, batch), present, (spans[..., 0] >= 0).any(-1), True)


def soft_loss(teacher: MPNetReader) -> Loss:
    """The hard loss and the divergence from a teacher's starts, ends and passage odds."""

    def divergence(pupil: Tensor, target: Tensor) -> Tensor:
        difference = target.log_softmax(-1) - pupil.log_softmax(-1)
        return (target.softmax(-1) * difference).sum(-1).mean() * TEMPERATURE**2

    def loss(logits: tuple[Tensor, Tensor, Tensor], batch: Batch) -> Tensor:
        with torch.no_grad():
            targets = teacher(batch["ids"], batch["ids"] != PADDING)
        outside = ~spread(batch["inside"].float(), batch).bool()
        soft = torch.zeros((), device=outside.device)
        for pupil, target in zip(logits[:2], targets[:2], strict=True):
            both = [spread(x, batch).masked_fill(outside, -1e4).flatten(1) / TEMPERATURE for x in (pupil, target)]
            soft = soft + divergence(*both)
        odds = [functional.pad(spread(x, batch, -1e4), (1, 0)) / TEMPERATURE for x in (logits[2], targets[2])]
        return (1 - SOFT) * hard_loss(logits, batch) + SOFT * (soft + divergence(*odds))

    return loss


def fit(
    stage: str, model: MPNetReader, batches: Iterator[Sequence[Group]], steps: int, loss: Loss, device: str
) -> dict[str, Any]:
    """Train for ``steps`` steps with warm-up and linear decay; returns loss and seconds a step."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=RATES[stage], weight_decay=0.01)
    model.train()
    losses, began = [], time.monotonic()
    for step, groups in zip(range(steps), batches, strict=False):
        optimiser.param_groups[0]["lr"] = RATES[stage] * min(1, (step + 1) / (0.06 * steps)) * max(0.02, 1 - step / steps)
        batch = collate(groups, device)
        with torch.autocast(device, torch.bfloat16):
            value = loss(model(batch["ids"], batch["ids"] != PADDING), batch)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(value.detach())
        if (step + 1) % 100 == 0:
            print(f"{stage}: step {step + 1} of {steps}, loss {float(torch.stack(losses[-100:]).mean()):.3f}", flush=True)
    model.eval()
    means = [round(float(torch.stack(losses[at : at + 100]).mean()), 4) for at in range(0, len(losses), 100)]
    return {"steps": len(losses), "seconds_a_step": round((time.monotonic() - began) / len(losses), 4), "losses": means}


def start_factors(model: MPNetReader, base: dict[str, Tensor], batches: Iterator[Sequence[Group]], device: str) -> None:
    """Give each linear map its base's weight, and its difference from it as the factors that keep most of its output.

    The difference's columns are weighted by the root mean square of their inputs, measured on ten batches.
    """
    layers = dict(model.linear_layers())
    for layer in layers.values():
        layer.squares = torch.zeros(layer.weight.shape[1], device=device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        for _, groups in zip(range(10), batches, strict=False):
            batch = collate(groups, device)
            model(batch["ids"], batch["ids"] != PADDING)
        for name, layer in layers.items():
            assert layer.squares is not None
            scale = layer.squares.sqrt()
            scale, layer.squares = scale / scale.mean() + 1e-6, None
            start = base[f"{name}.weight"].to(device)
            u, singular, v = torch.svd_lowrank((layer.weight - start).float() * scale, q=RANK + 16, niter=4)
            root = singular[:RANK].sqrt()
            layer.b = torch.nn.Parameter((u[:, :RANK] * root).contiguous())
            layer.a = torch.nn.Parameter(((v[:, :RANK] * root).T / scale).contiguous())
            layer.weight.copy_(start)
            layer.weight.requires_grad_(False)


def eight_bits(values: Tensor, dimension: int) -> tuple[Tensor, Tensor]:
    """Eight-bit integers and their scales, one for each row (1) or column (0)."""
    scale = (values.abs().amax(dimension, keepdim=True).clamp(min=1e-12) / 127).half()
    return (values / scale.float()).round().clamp(-127, 127).to(torch.int8), scale


def save(model: MPNetReader, path: Path) -> None:
    """Write the factors in eight bits, and biases, norms and heads in float16, as transformers names them."""
    out: dict[str, Tensor] = {}
    for name, layer in model.linear_layers():
        assert layer.a is not None
        assert layer.b is not None
        out[f"{name}.b"], out[f"{name}.b_scale"] = eight_bits(layer.b.detach(), 0)
        out[f"{name}.a"], out[f"{name}.a_scale"] = eight_bits(layer.a.detach(), 1)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1 or name.startswith("qa_"):
            out[checkpoint_name(name)] = parameter.detach().half()
    named = {name if name.startswith("qa_") else f"mpnet.{name}": tensor for name, tensor in out.items()}
    save_file({name: tensor.contiguous().cpu() for name, tensor in named.items()}, path)


def look_alikes(groups: Sequence[Group]) -> list[Group]:
    """A group for each question and passage, with the other passages that several draws gave it."""
    merged: dict[tuple[int, ...], Group] = {}
    for group in groups:
        first = group.windows[0]
        key = (bool(group.spans[0]), first.segment, *first.ids[: first.segment], *first.ids[first.first : first.last])
        kept = merged.setdefault(key, Group([first], [group.spans[0]]))
        for window, spans in zip(group.windows[1:], group.spans[1:], strict=True):
            if len(kept.windows) < PASSAGES and all(window.ids != other.ids for other in kept.windows):
                kept.windows.append(window)
                kept.spans.append(spans)
    return list(merged.values())


def shuffled(groups: Sequence[Group], size: int, seed: str) -> Iterator[Sequence[Group]]:
    """Endless batches of similar length in random order."""
    rng = random.Random(seed)
    while True:
        yield from similar_length_batches(groups, lambda group: (group.tokens, len(group.windows)), size, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--questions", type=int, help="at most so many questions of a file: a trial")
    parser.add_argument("--steps", type=int, help="at most so many steps of a stage: a trial")
    options = parser.parse_args()
    settings = tomllib.loads((Path(__file__).parent / "reader.toml").read_text(encoding="utf-8"))
    recipe = ReaderRecipe(data_root=options.data, **settings)
    torch.manual_seed(recipe.seed)
    base = load_file(options.base / "model.safetensors")
    model = MPNetReader(base, recipe.dropout or 0.0).to(options.device)
    inputs = ReaderInputs(options.base / "tokenizer.json", recipe.max_tokens, recipe.overlap)
    limit = {"questions": options.questions} if options.questions else {}
    parts = [part.model_copy(update={"file": options.data / part.file, **limit}) for part in recipe.data]
    drawing = Drawing(negatives=recipe.negatives, unanswerable=recipe.unanswerable, distant=False, depth=recipe.depth)
    size, device, record = recipe.optimiser.batch, options.device, {}
    plain = reader_groups(parts, inputs, drawing, batch=size, seed=recipe.seed)
    steps = {stage: min(count, options.steps or count) for stage, count in STEPS.items()}
    record["full"] = fit("full", model, shuffled(plain, size, "full"), steps["full"], hard_loss, device)
    crowded = look_alikes(plain)
    record["look-alikes"] = fit("look-alikes", model, shuffled(crowded, size, "2"), steps["look-alikes"], hard_loss, device)
    teacher = MPNetReader(base, 0.0).to(device)
    teacher.load_state_dict(model.state_dict())
    start_factors(model, base, shuffled(plain, size, "inputs"), device)
    record["low rank"] = fit(
        "low rank", model, shuffled(crowded, size, "3"), steps["low rank"], soft_loss(teacher.eval()), device
    )
    options.out.mkdir(parents=True, exist_ok=True)
    save(model, options.out / "difference.safetensors")
    data = {str(part.file): data_hash([options.data / part.file]) for part in recipe.data}
    run = {"recipe": settings, "data_sha256": data, "stages": record, "versions": versions()}
    (options.out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
