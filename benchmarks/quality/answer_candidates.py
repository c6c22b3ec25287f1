"""Measures which share of the answers asked for are among the first candidates of a passage, and the speed.

Run:  python benchmarks/quality/answer_candidates.py --data ../shared/data \\
          [--extractor DIR] [--entities en_core_web_sm] [--dev]

Compared are rules, spaCy's named entities (the setting of Xiong et al. 2021), the trained extractor, and what combines
them, on the held-out articles of the training files; with --dev also on the paragraphs of SQuAD v1.1 dev, which must not be
used for tuning. Paragraphs that another file trains on are left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Paragraph, readable_title, split_articles
from oreqa.generation.candidates import AnswerCandidate, Entities, answer_candidates
from oreqa.models.extractor.extractor import Extractor
from oreqa.models.graph.precision import used_precision
from oreqa.text.answers import normalize_answer

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad

FILES = ("squad-train-pieces", "squad-train-more", "qed-nq-train", "afriqa-en", "fairytaleqa")
K = 10


def held_out(data: Path, paragraphs: int) -> dict[str, list[Paragraph]]:
    """Return up to ``paragraphs`` held-out paragraphs of each file, without those that another file trains on."""
    splits = {name: split_articles(load_paragraphs(data / "extractive" / f"{name}.json.gz")) for name in FILES}
    trained = {paragraph.text for train, _ in splits.values() for paragraph in train}
    return {
        name: [paragraph for paragraph in held if paragraph.questions and paragraph.text not in trained][:paragraphs]
        for name, (_, held) in splits.items()
    }


def systems(extractor: Extractor | None, entities: Entities | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each system with its arguments for ``answer_candidates``."""
    yield "rules", {}
    if entities is not None:
        yield "spaCy", {"entities": entities, "rules": False}
        yield "spaCy, then rules", {"entities": entities}
    if extractor is not None:
        yield "extractor", {"extractor": extractor, "rules": False}
        yield "extractor and rules", {"extractor": extractor}


def candidate_recall(
    paragraphs: Sequence[Paragraph], candidates: Sequence[Sequence[AnswerCandidate]], cuts: Sequence[int] = (5, 10)
) -> dict[str, float]:
    """Return the recall of the gold answers among each paragraph's first candidates, in percent of answerable questions.

    ``exact@k``: one of the first k candidates equals one of the question's answers after SQuAD's normalisation.
    ``overlap@k``: one of them overlaps one of the answers. ``candidates`` is the mean number of candidates.
    """
    questions = sum(bool(question.answers) for paragraph in paragraphs for question in paragraph.questions)
    recall: dict[str, float] = {}
    for k in cuts:
        exact = overlap = 0
        for paragraph, ranked in zip(paragraphs, candidates, strict=True):
            first = ranked[:k]
            texts = {normalize_answer(candidate.text) for candidate in first}
            for question in paragraph.questions:
                exact += any(normalize_answer(gold.text) in texts for gold in question.answers)
                overlap += any(
                    gold.start < candidate.end and candidate.start < gold.start + len(gold.text)
                    for gold in question.answers
                    for candidate in first
                )
        recall[f"exact@{k}"] = round(100 * exact / questions, 2)
        recall[f"overlap@{k}"] = round(100 * overlap / questions, 2)
    mean = sum(map(len, candidates)) / len(candidates)
    return {"questions": questions, "candidates": round(mean, 2), **recall}


def measure(paragraphs: Sequence[Paragraph], settings: dict[str, Any]) -> dict[str, float]:
    """Return recall at 5 and 10, and passages per second."""
    texts = [(readable_title(paragraph.title), paragraph.text) for paragraph in paragraphs]
    started = time.perf_counter()
    candidates = answer_candidates(texts, K, **settings)
    seconds = time.perf_counter() - started
    return {**candidate_recall(paragraphs, candidates), "passages_per_second": round(len(texts) / seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--extractor", type=Path)
    parser.add_argument("--entities", help="a spaCy pipeline")
    parser.add_argument("--paragraphs", type=int, default=150, help="held-out paragraphs of each file")
    parser.add_argument("--dev", action="store_true", help="SQuAD dev's paragraphs, too")
    options = parser.parse_args()
    extractor = None if options.extractor is None else Extractor(options.extractor)
    entities = None if options.entities is None else Entities.load(options.entities)
    sets = held_out(options.data, options.paragraphs)
    if options.dev:
        sets["squad-v1.1-dev"] = squad(options.data)
    figures = {
        name: {"paragraphs": len(rows), **{system: measure(rows, s) for system, s in systems(extractor, entities)}}
        for name, rows in sets.items()
    }
    report("generator/answer_candidates", {"precision": used_precision("cpu", "extractor")["extractor"], **figures})


if __name__ == "__main__":
    main()
