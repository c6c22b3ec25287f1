"""``oreqa eval generator``: compares generated questions with those that people asked about the same answers."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import as_path, choice, count
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import held_out_paragraphs, placed_answers, readable_title
from oreqa.defaults import DEFAULT_GENERATOR
from oreqa.errors import INSTALL_TRAIN, InputError
from oreqa.evaluation.figures import histogram
from oreqa.evaluation.frame import Evaluation
from oreqa.evaluation.runs import QuestionResult
from oreqa.models.generator.decoding import BeamSearch, Decoding, Greedy, Nucleus, as_decoding
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import MarkedAnswer, mark_answer
from oreqa.models.graph.precision import used_precision
from oreqa.progress import Progress, no_progress
from oreqa.text.sentences import split_sentences

_MODES = {Greedy: "greedy", BeamSearch: "beam", Nucleus: "nucleus"}


def evaluate_generator(
    data: str | Path,
    out: str | Path,
    *,
    generator: str | Path = DEFAULT_GENERATOR,
    style: str | None = None,
    decoding: Decoding | str = "greedy",
    held_out: bool = False,
    draw: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Generate a question for the first answer of each question of a SQuAD or MRQA file, and compare the two.

    Answers that are not where the data says are skipped. ``style`` is one that the generator learned, by default its
    first. With ``held_out``, only articles held out of training are asked about; ``draw`` questions are drawn by
    ``seed``, by default all. Writes the run's files to ``out`` and returns the content of metrics.json: ROUGE-L and
    BLEU-4 in percent, and the questions generated per second.

    Raises InputError for data that cannot be read and for an ``out`` with a run, a model or an index, ModelError for a model
    that cannot be loaded.
    """
    data = as_path(data, "data")
    run = Evaluation("generator", [data], out)
    question_generator, decoding = QuestionGenerator(generator, device=device), as_decoding(decoding, seed)
    style = question_generator.styles[0] if style is None else style
    choice(style, question_generator.styles, "style")
    rows = _marked_questions(data, held_out, question_generator.reads_passages)
    if draw is not None and count(draw, "draw") < len(rows):
        rows = [rows[i] for i in sorted(random.Random(seed).sample(range(len(rows)), draw))]
    if not rows:
        raise InputError(f"{data}: no question with an answer")
    run.start()
    generated = question_generator.generate([answer for _, _, answer in rows], style, decoding, progress=progress)
    seconds = run.seconds
    texts, golds = [best[0].text if best else "" for best in generated], [gold for _, gold, _ in rows]
    scores = rouge_l(texts, golds)
    settings = {
        "data": data.name,
        "style": style,
        "decoding": _MODES[type(decoding)],
        **asdict(decoding),
        "held_out": held_out,
        "drawn": draw,
        "seed": seed,
        "precision": used_precision(device, "generator"),
    }
    metrics = {
        "rouge_l_coco": round(100 * float(np.mean(rouge_l_coco(texts, golds))), 2),
        "bleu_4": round(bleu_4(texts, golds), 2),
        "words": round(float(np.mean([len(text.split()) for text in texts])), 2),
        "questions_per_second": round(len(rows) / seconds, 1),
    }
    return run.write(
        _results(rows, texts, scores),
        _MODES[type(decoding)],
        str(generator),
        settings,
        metrics=metrics,
        figure=("ROUGE-L of the questions", histogram([100 * score for score in scores], "ROUGE-L, %", "questions")),
        examples=("Examples", _examples(rows, texts, scores)),
    )


def _marked_questions(data: Path, held_out: bool, whole: bool) -> list[tuple[str, str, MarkedAnswer]]:
    """Return id and text of every question, and its first answer in its sentences, or in the ``whole`` paragraph."""
    paragraphs = load_paragraphs(data)
    rows = []
    for paragraph in held_out_paragraphs(paragraphs, data) if held_out else paragraphs:
        sentences, title = [] if whole else split_sentences(paragraph.text), readable_title(paragraph.title)
        for question in paragraph.questions:
            for start, end in placed_answers(paragraph.text, question)[:1]:
                rows.append((question.id, question.text, mark_answer(title, paragraph.text, start, end, sentences)))
    return rows


def _results(
    rows: Sequence[tuple[str, str, MarkedAnswer]], texts: Sequence[str], scores: Sequence[float]
) -> list[QuestionResult]:
    """Return rows whose question is an answer in its context, and whose answer is the generated question."""
    return [
        QuestionResult(
            id=key,
            question=f"{marked.context[: marked.start]}[{marked.text}]{marked.context[marked.end :]}",
            metrics={"rouge_l": score},
            gold=[gold],
            answers=[(text, score)],
        )
        for (key, gold, marked), text, score in zip(rows, texts, scores, strict=True)
    ]


def _examples(
    rows: Sequence[tuple[str, str, MarkedAnswer]], texts: Sequence[str], scores: Sequence[float], number: int = 20
) -> str:
    """Return questions evenly spread over the file as an HTML table, each with its answer marked in the context."""
    head = "".join(f"<th class=text>{name}</th>" for name in ("answer in its context", "generated", "asked by a person"))
    body = []
    for (_, gold, marked), text, score in list(zip(rows, texts, scores, strict=True))[:: -(-len(rows) // number)]:
        before, after = escape(marked.context[: marked.start]), escape(marked.context[marked.end :])
        cells = (f"{before}<mark>{escape(marked.text)}</mark>{after}", escape(text), escape(gold))
        body.append(f"<tr>{''.join(f'<td class=text>{cell}</td>' for cell in cells)}<td>{100 * score:.1f}</td></tr>")
    note = f"<p class=dim>{len(body):,} of {len(rows):,}, evenly spread.</p>"
    return f"{note}<table><tr>{head}<th>ROUGE-L</th></tr>{''.join(body)}</table>"


def rouge_l(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return ROUGE-L's F1 (Lin 2004) of each pair, 0..1: longest common subsequence of lower-case words without stemming.

    As in rouge-score, words are runs of a to z and digits: other letters separate words, and text without any scores 0.
    Raises InputError if rouge-score is not installed.
    """
    scorer = _import("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return [scorer.score(gold, text)["rougeL"].fmeasure for text, gold in zip(predictions, references, strict=True)]


def rouge_l_coco(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return ROUGE-L of each pair, 0..1, as papers on question generation report it, by coco-caption's measure.

    Punctuation counts, so that every question mark matches, and recall has more weight: the F measure with β = 1.2.
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
    """A tokeniser for rouge-score: lower-case words, and each punctuation mark separately."""

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", text.lower())


def bleu_4(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return corpus BLEU-4 (Papineni et al. 2002) in percent, of lower-case words split from punctuation.

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
