"""Silver pairs: sentences that a retriever finds and a classifier takes for answers (Yang et al. 2021, section 4.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oreqa.core import Mode
from oreqa.datasets.pairs import GOLD, SILVER, Candidate, Pair, gold_pairs, pair_row
from oreqa.datasets.reqa import ReqaTask
from oreqa.files import resume_rows, write_jsonl
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.cross_encoder.reranking import hit_candidate, probability

LIKELY = 0.5
"""From this probability on a sentence is taken for an answer."""
CHUNK = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and its gold candidates if there are any."""

    question: str
    gold: tuple[Candidate, ...] = ()


def asked_of(task: ReqaTask) -> list[Asked]:
    """A task's questions with their gold."""
    found: dict[str, list[Candidate]] = {}
    for pair in gold_pairs(task):
        found.setdefault(pair.question, []).append(pair.positive)
    return [Asked(question, tuple(gold)) for question, gold in found.items()]


def mine_silver(
    asked: Sequence[Asked],
    index: Index,
    classifier: CrossEncoder,
    out: Path,
    top: int = 10,
    mode: Mode = "hybrid",
    least: float = LIKELY,
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """Gold pairs, and of the ``top`` best sentences of ``index`` those that ``classifier`` gives at least ``least``.

    A silver pair's weight and score are the probability, its rank the retriever's. Gold pairs have a score, too, the weight
    1, and a rank if they were retrieved. Rows are kept beside ``out`` as they are made, so that an interrupted run goes on;
    ``out`` is written last. Returns its rows.
    """
    questions = [one.question for one in asked]
    given = [questions, [[c.answer for c in one.gold] for one in asked], classifier.stamp, index.encoder.fingerprint,
             index.content_stamp, mode, top, least]  # fmt: skip
    made = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    partial = out.with_name(f".{out.name}.partial")

    def make(begin: int, end: int) -> list[dict[str, Any]]:
        part = asked[begin:end]
        hits = index.search(questions[begin:end], top, mode, "sentence")
        lists = [_pairs(one, [hit_candidate(hit) for hit in own]) for one, own in zip(part, hits, strict=True)]
        logits = classifier.score(questions[begin:end], [[pair.positive for pair in own] for own in lists])
        rows = []
        for own, found in zip(lists, logits, strict=True):
            scored = [
                replace(pair, score=p, weight=p if pair.source == SILVER else pair.weight)
                for pair, p in zip(own, probability(found).tolist(), strict=True)
            ]
            rows.append({"pairs": [pair_row(pair) for pair in scored if pair.source == GOLD or pair.weight >= least]})
        return rows

    rows = resume_rows(partial, made, len(asked), CHUNK, make, progress or (lambda _: None))
    found = [pair for row in rows for pair in row["pairs"]]
    write_jsonl(out, found)
    partial.unlink(missing_ok=True)
    return found


def _pairs(one: Asked, retrieved: Sequence[Candidate]) -> list[Pair]:
    """The gold and what was retrieved, with the retriever's ranks; nothing besides that reads like the gold."""
    ranks: dict[str, int] = {}
    for rank, candidate in enumerate(retrieved, 1):
        ranks.setdefault(candidate.answer, rank)
    gold = [Pair(one.question, candidate, rank=ranks.get(candidate.answer)) for candidate in one.gold]
    texts = {candidate.answer for candidate in one.gold}
    return gold + [
        Pair(one.question, candidate, source=SILVER, rank=rank)
        for rank, candidate in enumerate(retrieved, 1)
        if candidate.answer not in texts
    ]
