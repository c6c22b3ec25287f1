"""Training examples of the question generator: prefix and question as token ids."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import torch

from oreqa.datasets.load import data_kind, load_paragraphs
from oreqa.datasets.pairs import SILVER, load_pairs
from oreqa.datasets.paragraphs import Paragraph, held_out_paragraphs, placed_answers, readable_title, split_articles
from oreqa.models.generator.inputs import GeneratorInputs, MarkedAnswer, mark_answer
from oreqa.models.generator.seq2seq import Seq2SeqInputs
from oreqa.progress import Advance, ignore
from oreqa.text.sentences import split_sentences
from oreqa.training.batches import TOKENISED_TOGETHER, in_a_row, similar_length_batches
from oreqa.training.generator.recipe import GeneratorData
from oreqa.training.loop import TensorBatch

Inputs = GeneratorInputs | Seq2SeqInputs


@dataclass(frozen=True, slots=True)
class GeneratorExample:
    """The ids of a prefix, and of the question with its final [SEP]."""

    prefix: list[int]
    question: list[int]


def generator_examples(
    parts: Sequence[GeneratorData], inputs: Inputs, *, batch: int, seed: int, advance: Advance = ignore
) -> list[GeneratorExample]:
    """Return all examples of a run in training order, in batches of similar length."""
    paragraphs, held_out = _paragraphs({part.file for part in parts})
    files = [_load(part, inputs, paragraphs.get(part.file), held_out, advance) for part in parts]
    epochs = []
    for epoch in range(max(part.epochs for part in parts)):
        rng = random.Random(f"{seed} {epoch}")
        drawn = [
            example
            for part, examples in zip(parts, files, strict=True)
            if epoch < part.epochs
            for example in rng.sample(examples, min(part.questions or len(examples), len(examples)))
        ]
        rng.shuffle(drawn)
        epochs.append(similar_length_batches(drawn, lambda e: len(e.prefix) + len(e.question), batch, rng))
    return in_a_row(epochs, batch)


def dev_questions(part: GeneratorData, inputs: Inputs) -> list[GeneratorExample]:
    """Return the examples of a file's held-out articles, or of all pairs of a pair file, shortest first."""
    is_pairs = data_kind(part.file) == "pairs"
    held_out = None if is_pairs else held_out_paragraphs(load_paragraphs(part.file), part.file)
    examples = _load(part, inputs, held_out, frozenset(), ignore)
    return sorted(examples, key=lambda example: len(example.prefix) + len(example.question))


def _paragraphs(files: Set[Path]) -> tuple[dict[Path, list[Paragraph]], set[str]]:
    """Return the training paragraphs of each file that is no pair file, and the texts held out in any of them.

    Another file may have these texts in a training article.
    """
    splits = {file: split_articles(load_paragraphs(file)) for file in files if data_kind(file) != "pairs"}
    held_out = {paragraph.text for _, out in splits.values() for paragraph in out}
    return {file: [p for p in train if p.text not in held_out] for file, (train, _) in splits.items()}, held_out


def _load(
    part: GeneratorData, inputs: Inputs, paragraphs: Sequence[Paragraph] | None, held_out: Set[str], advance: Advance
) -> list[GeneratorExample]:
    """Return the distinct questions of a file's ``paragraphs``, or of a pair file, each with its first answer."""
    rows: dict[tuple[str, str], MarkedAnswer] = {}
    if paragraphs is not None:
        marked_answers = _paragraph_examples(paragraphs, part.titles, inputs)
    else:
        marked_answers = _pair_examples(part.file, part.titles, inputs, held_out)
    for question, marked in marked_answers:
        rows.setdefault((question, marked.text), marked)
    distinct, examples = list(rows.items()), []
    for begin in range(0, len(distinct), TOKENISED_TOGETHER):
        block = [(text, marked) for (text, _), marked in distinct[begin : begin + TOKENISED_TOGETHER]]
        prefixes = inputs.prefixes([marked for _, marked in block], [part.style] * len(block))
        questions = inputs.questions([text for text, _ in block])
        pairs = zip(prefixes, questions, strict=True)
        examples += [GeneratorExample(prefix, ids) for prefix, ids in pairs if prefix is not None and len(ids) > 1]
        advance(len(block))
    return examples


def _pair_examples(file: Path, titles: bool, inputs: Inputs, held_out: Set[str]) -> Iterator[tuple[str, MarkedAnswer]]:
    """Yield the questions of a pair file, each with its answer in its context, without those about ``held_out`` paragraphs.

    Silver pairs are skipped: a model wrote the question or chose its answer.
    """
    for pair in load_pairs(file):
        candidate = pair.positive
        if pair.source == SILVER or candidate.context in held_out:
            continue
        sentences = [] if inputs.reads_passages else split_sentences(candidate.context)
        title = readable_title(candidate.head) if titles else ""
        yield pair.question, mark_answer(title, candidate.context, candidate.start, candidate.end, sentences)


def _paragraph_examples(paragraphs: Iterable[Paragraph], titles: bool, inputs: Inputs) -> Iterator[tuple[str, MarkedAnswer]]:
    """Yield the questions about paragraphs, each with its first answer in its context."""
    for paragraph in paragraphs:
        sentences = [] if inputs.reads_passages else split_sentences(paragraph.text)
        title = readable_title(paragraph.title) if titles else ""
        for question in paragraph.questions:
            for start, end in placed_answers(paragraph.text, question)[:1]:
                yield question.text, mark_answer(title, paragraph.text, start, end, sentences)


def collate_questions(examples: Sequence[GeneratorExample]) -> TensorBatch:
    """Return the padded tensors of a batch for ``BertGenerator``, and ``targets`` (``[P]``), the questions' tokens."""
    rows = [example.prefix + example.question[:-1] for example in examples]
    length = max(map(len, rows))
    ids, types = (torch.zeros((len(rows), length), dtype=torch.long) for _ in range(2))
    predicts = torch.zeros((len(rows), length), dtype=torch.bool)
    for number, (row, example) in enumerate(zip(rows, examples, strict=True)):
        size = len(example.prefix)
        ids[number, : len(row)] = torch.tensor(row)
        types[number, size : len(row)] = 1
        predicts[number, size - 1 : len(row)] = True
    return {
        "input_ids": ids,
        "token_type_ids": types,
        "prefixes": torch.tensor([len(example.prefix) for example in examples]),
        "lengths": torch.tensor([len(row) for row in rows]),
        "predicts": predicts,
        "targets": torch.tensor([token for example in examples for token in example.question]),
    }
