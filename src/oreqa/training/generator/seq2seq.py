"""Training of BART and T5 as question generators, as in ProQA (Xiong et al. 2021, section 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.losses.generation import token_loss
from oreqa.models.generator.module import first_tokens, load_seq2seq
from oreqa.models.generator.seq2seq import Seq2SeqInputs, read_seq2seq_folder
from oreqa.models.names import read_config
from oreqa.training.generator.examples import GeneratorExample
from oreqa.training.generator.recipe import GeneratorRecipe
from oreqa.training.loop import TensorBatch


def start_seq2seq(recipe: GeneratorRecipe, backbone: Path) -> tuple[Any, Seq2SeqInputs]:
    """Return the BART or T5 of a folder, and what builds its inputs. Raises InputError for keys that it would ignore."""
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
