"""Similarity of a generated question's wording to a person's: ROUGE-L and BLEU-4, from rouge-score and sacrebleu."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oreqa.errors import INSTALL_TRAIN, InputError


def rouge_l(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """ROUGE-L's F1 (Lin 2004) of each pair, 0..1: longest common subsequence of lower-case words without stemming.

    As in rouge-score, words are runs of a to z and digits: other letters part words, and text without any scores 0.
    Raises InputError if rouge-score is not installed.
    """
    scorer = _import("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return [scorer.score(gold, text)["rougeL"].fmeasure for text, gold in zip(predictions, references, strict=True)]


def rouge_l_coco(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """ROUGE-L of each pair, 0..1, as papers on question generation report it, by the measure of coco-caption.

    Punctuation counts, so that every question mark is a match, and recall weighs more: the F measure of β = 1.2.
    Raises InputError if rouge-score is not installed.
    """
    scorer = _import("rouge_score.rouge_scorer").RougeScorer(["rougeL"], tokenizer=_WordsAndMarks())
    scores = []
    for text, gold in zip(predictions, references, strict=True):
        score = scorer.score(gold, text)["rougeL"]
        weighted = score.recall + 1.2**2 * score.precision
        scores.append((1 + 1.2**2) * score.precision * score.recall / weighted if weighted else 0.0)
    return scores


class _WordsAndMarks:
    """A tokeniser for rouge-score: lower-case words, and each mark of punctuation by itself."""

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", text.lower())


def bleu_4(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU-4 (Papineni et al. 2002) in percent, of lower-case words split from punctuation.

    Raises InputError if sacrebleu is not installed.
    """
    if not predictions:
        return 0.0
    return float(_import("sacrebleu").corpus_bleu(list(predictions), [list(references)], lowercase=True).score)


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"{name.partition('.')[0]} is not installed: {INSTALL_TRAIN}") from error
