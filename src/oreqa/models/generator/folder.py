"""Read the settings of a question generator's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.folders import GENERATOR, MIN_TOKENS, check_kind, read_config, sound_settings, whole_number
from oreqa.models.graph.weights import Linear, Weights, find_tokenizer, linear_head


@dataclass(frozen=True, slots=True)
class GeneratorFolder:
    """The settings of a generator's folder; the weights are not loaded.

    ``styles`` are the kinds of questions that it learned, each from a training set of its own; it saw no titles with those
    that are ``untitled``. ``max_tokens`` is the longest prefix (title, context and answer with special tokens),
    ``question_tokens`` the longest question with [SEP].
    """

    path: Path
    config: dict[str, Any]
    tokenizer: Path
    styles: tuple[str, ...]
    max_tokens: int
    question_tokens: int
    untitled: tuple[str, ...] = ()


def read_generator_folder(path: Path) -> GeneratorFolder:
    """Read the settings of a generator's folder. Raises ModelError, with the reason, if it is something else."""
    with sound_settings(path):
        config = read_config(path)
        check_kind(path, config, GENERATOR)
        settings = config.get("oreqa") or {}
        styles = settings.get("styles")
        if not isinstance(styles, list) or not styles or not all(isinstance(style, str) for style in styles):
            raise ModelError(f"{path}: its setting styles is {styles!r}; it must be a list of names")
        untitled = settings.get("untitled", [])
        if not isinstance(untitled, list) or not all(style in styles for style in untitled):
            raise ModelError(f"{path}: its setting untitled is {untitled!r}; it must be a list of its styles")
        positions = whole_number(config, "max_position_embeddings", path, 512, 2 * MIN_TOKENS)
        question_tokens = min(whole_number(settings, "question_tokens", path, 32, 2), positions // 2)
        return GeneratorFolder(
            path=path,
            config=config,
            tokenizer=find_tokenizer(path),
            styles=tuple(styles),
            max_tokens=min(whole_number(settings, "max_tokens", path, 128, MIN_TOKENS), positions - question_tokens),
            question_tokens=question_tokens,
            untitled=tuple(untitled),
        )


def head_weights(folder: GeneratorFolder, weights: Weights) -> tuple[Linear, Linear, NDArray[np.float32]]:
    """Return the language model head: its linear layer, weight and bias of its layer norm, and the bias of the output.

    The output's matrix is that of the word embeddings. Raises ModelError if a part is missing or does not fit.
    """
    path, transform = folder.path, "cls.predictions.transform"
    dense = linear_head(weights, f"{transform}.dense", path, folder.config)
    try:
        norm = weights[f"{transform}.LayerNorm.weight"], weights[f"{transform}.LayerNorm.bias"]
        output_bias = weights["cls.predictions.bias"]
        vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    except KeyError as error:
        raise ModelError(f"{path}: its weights lack {error.args[0]}: they belong to another kind of model") from None
    sound = dense[0].shape == (width, width) and {part.shape for part in norm} == {(width,)}
    if not sound or output_bias.shape != (vocabulary,) or not folder.config.get("tie_word_embeddings", True):
        raise ModelError(f"{path}: its language model head does not fit its word embeddings, which it must share")
    return dense, norm, output_bias
