"""Training of the question generator, from BERT, BART or T5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.losses.generation import token_loss
from oreqa.models.generator.inputs import GeneratorInputs
from oreqa.models.generator.module import (
    BertGenerator,
    MPNetGenerator,
    first_tokens,
    load_seq2seq,
    new_generator,
    start_head,
)
from oreqa.models.generator.seq2seq import Seq2SeqInputs, read_seq2seq_folder
from oreqa.models.graph.torch import silence_transformers
from oreqa.models.names import find_model, find_tokenizer, read_config
from oreqa.models.settings import is_seq2seq
from oreqa.models.weights import load_weights
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import check_positions, start_headed
from oreqa.training.generator.examples import GeneratorExample, Inputs, collate_questions, dev_questions, generator_examples
from oreqa.training.generator.recipe import GeneratorRecipe
from oreqa.training.loop import BatchLoss, EarlyStopping, TensorBatch
from oreqa.training.trainer import copy_tokenizer, dev_batches, evaluated, fit


@silence_transformers()
def train_generator(recipe: GeneratorRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a question generator, with the answer marked in its context (UniLM, Dong et al. 2019), and save it to ``out``.

    If the recipe's backbone is a BART or T5, it is fine-tuned as in ProQA (Xiong et al. 2021, section 2.2) instead. Returns
    the content of run.json. Resumes from the last checkpoint if there is one. Raises InputError for unusable data.
    """
    torch.manual_seed(recipe.seed)
    backbone = find_model(recipe.backbone)
    tokenizer = find_tokenizer(backbone)
    inputs: Inputs
    if is_seq2seq(read_config(backbone)):
        model, inputs = start_seq2seq(recipe, backbone)
        collate, loss_with = seq2seq_collate(model), seq2seq_loss
    else:
        settings = recipe.folder_settings(read_config(backbone).get("oreqa", {}))
        model = _start(recipe, backbone, settings)
        lengths = recipe.max_tokens, recipe.question_tokens
        inputs = GeneratorInputs(tokenizer, *lengths, settings["styles"], settings["untitled"])
        collate, loss_with = collate_questions, _loss
    with show(progress, "preparing questions") as advance:
        examples = generator_examples(recipe.parts, inputs, batch=recipe.optimiser.batch, seed=recipe.seed, advance=advance)
    if not examples:
        raise InputError("there is nothing to learn from: no answer stands where the data says, or all pairs are silver")

    early_stopping = None
    if recipe.dev_file is not None:
        dev = dev_questions(recipe.parts[0].model_copy(update={"file": recipe.dev_file}), inputs)
        if not dev:
            raise InputError(
                f"{recipe.dev_file}: it holds no question with an answer that training leaves out; name another"
            )
        plain = loss_with(0.0)

        def measure() -> float:
            total, tokens = 0.0, 0
            with evaluated(model, recipe.optimiser.precision) as device:
                for batch in dev_batches(dev, collate, recipe.optimiser.batch, device):
                    count = len(batch["targets"])
                    total += count * float(plain(model, batch))
                    tokens += count
            return round(total / tokens, 4)

        early_stopping = EarlyStopping(recipe.dev_metric, measure, recipe.patience, lower_is_better=True)
    record = fit(
        model,
        examples,
        collate,
        loss_with(recipe.label_smoothing),
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        early_stopping=early_stopping,
    )
    copy_tokenizer(tokenizer.parent, out)
    return record


def _loss(smoothing: float) -> BatchLoss:
    def loss(module: BertGenerator | MPNetGenerator, batch: TensorBatch) -> Tensor:
        targets = batch.pop("targets")
        return token_loss(module(**batch), targets, smoothing)

    return loss


def _start(recipe: GeneratorRecipe, backbone: Path, settings: dict[str, Any]) -> BertGenerator | MPNetGenerator:
    """Return the backbone with its language model head, or with a new one if it has none."""
    check_positions(backbone, max_tokens=recipe.max_tokens, question_tokens=recipe.question_tokens)
    has_head = "cls.predictions.transform.dense.weight" in load_weights(backbone)
    model = start_headed(
        new_generator,
        backbone,
        dropout=recipe.dropout,
        head=has_head,
        attention_dropout=recipe.attention_dropout,
        is_decoder=True,
        oreqa=settings,
    )
    if not has_head:
        start_head(model)
    if not torch.cuda.is_available():  # the CPU's fused attention takes a sixth longer with a separate mask for each row
        model.set_attn_implementation("eager")
    return model


def start_seq2seq(recipe: GeneratorRecipe, backbone: Path) -> tuple[Any, Seq2SeqInputs]:
    """Return the BART or T5 of a folder, and its input builder. Raises InputError for keys that it would ignore."""
    config = read_config(backbone)
    _refuse_ignored(recipe, config["model_type"])
    settings = recipe.folder_settings({})
    folder = read_seq2seq_folder(backbone, {**config, "oreqa": settings})
    rates = {"dropout": recipe.dropout, "attention_dropout": recipe.attention_dropout}
    model = load_seq2seq(backbone, **({"dropout_rate": recipe.dropout} if config["model_type"] == "t5" else rates))
    model.config.oreqa = settings
    return model, Seq2SeqInputs(folder)


def _refuse_ignored(recipe: GeneratorRecipe, model_type: str) -> None:
    if len(recipe.styles) > 1:
        raise InputError(f"a BART or T5 learns one style, not {', '.join(recipe.styles)}: give all data the same")
    if any("titles" in part.model_fields_set for part in recipe.data):
        raise InputError("data.titles would be ignored: a BART or T5 reads the passage and the answer alone")
    if recipe.optimiser.head_learning_rate is not None:
        raise InputError("optimiser.head_learning_rate would be ignored: all layers of a BART or T5 are trained already")
    if model_type == "t5" and "attention_dropout" in recipe.model_fields_set:
        raise InputError("attention_dropout would be ignored: T5 has one rate, dropout")


def seq2seq_collate(model: Any) -> Callable[[Sequence[GeneratorExample]], TensorBatch]:
    """Return the collator: inputs of encoder and decoder, and ``predicts`` and ``targets`` as in ``collate_questions``."""
    first, padding = first_tokens(model), model.config.pad_token_id

    def collate_questions(examples: Sequence[GeneratorExample]) -> TensorBatch:
        written = [[*first, *example.question[:-1]] for example in examples]
        ids, decoder_ids = (
            torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding)
            for rows in ([example.prefix for example in examples], written)
        )
        lengths, places = torch.tensor([len(example.prefix) for example in examples]), torch.arange(ids.shape[1])
        predicts = torch.zeros_like(decoder_ids, dtype=torch.bool)
        for row, example in zip(predicts, examples, strict=True):
            row[len(first) - 1 : len(first) - 1 + len(example.question)] = True
        return {
            "input_ids": ids,
            "attention_mask": (places < lengths[:, None]).long(),
            "decoder_input_ids": decoder_ids,
            "predicts": predicts,
            "targets": torch.tensor([token for example in examples for token in example.question]),
        }

    return collate_questions


def seq2seq_loss(smoothing: float) -> Callable[[Any, TensorBatch], Tensor]:
    """Return the cross-entropy of the questions' tokens, with label smoothing."""

    def loss(model: Any, batch: TensorBatch) -> Tensor:
        predicts, targets = batch.pop("predicts"), batch.pop("targets")
        return token_loss(model(**batch, use_cache=False).logits[predicts], targets, smoothing)

    return loss
