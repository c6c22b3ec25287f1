"""Decide which questions a block answers, and score the blocks of passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oreqa.answering.blocks import section_lines
from oreqa.answering.combining import Combination, ScoredSpan
from oreqa.arrays import Reals
from oreqa.core import Hit
from oreqa.corpus.splitter import passage_head
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.reader.blocks import TokenOdds
from oreqa.text.asking import asks_yes_or_no
from oreqa.text.several import SINGLE_OF, asks_for_several
from oreqa.text.structures import find_structures

LOWEST_SELECTION, HEADING, LISTED = -1.5, 5.0, 2.0
"""Parts of a block's score: the lower bound of ``selection``, as readers are too sure of passages; the weight of the
cosine of question and heading; and the bonus of a list if the question asks for one."""

_OPEN = re.compile(
    rf"""
    (?:^|[,;:.?!]\ )(?:and\ |but\ |so\ )?(?:
        how\ (?:do|does|did|can|could|should|would|might|must|to|is|are|was|were|will|has|have|come)
        |why
        |(?:in|under|on|for)\ (?:which|what)\ (?:ways?|cases|order|conditions|circumstances)
        |what\ (?:do|should|can|could|must)\ (?:i|we|you|one)\ (?:have\ to\ |need\ to\ )?(?:do|need)
        |when\ (?:do|would|should|must)\ (?:i|we|you)
    )\b
    |^what\ (?:are|happens|goes|should|must|can|is\ (?:to\ be\ done|(?:needed|required|necessary)\ (?:to|for|before)))\b
    |^what\ (?:is|does)\ .+\ (?:mean|for)\W*$
    |^(?:which|what){SINGLE_OF}\ (?:\w+\ ){{0,2}}\w{{2,}}s\ (?:are|do|does|can|could|must|should|may|have|belong|exist)\b
    |^what(?:\ is|['’]s)\ (?:
        (?!the\b|my\b|this\b)(?:an?\ )?[\w-]+(?:\ [\w-]+)?\W*$
        |an?(?:\ (?!(?:at|called|for|in|of|on|to|used)\b)[\w-]+){{3}}\W*$
        |the\ (?:(?:main|key)\ )?(?:differences?|procedure|advantage)\ (?:between|for|of|to|when)\b
        |the\ (?:best|correct|easiest|preferred|proper|recommended|right|safest|simplest|usual)\ (?:way|method)\b
    )
    |^(?:please\ )?(?:(?:can|could|would)\ you\ )?(?:please\ )?(?:
        explain|describe|list|tell\ me\ (?:about|how|why|what\ to)|(?:show|give)(?:\ me)?\ (?:how|(?:an\ |some\ )?examples?)
    )\b
    |\bis\ there\ (?:a|any|some)\ way\b
    |\b(?:steps|reasons)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Questions that a block answers: how to do something, why, which things, what something is."""


def asks_for_block(question: str) -> bool:
    """Return whether a question asks for steps, reasons, a list, a definition or yes or no, not for a name or number.

    Examples:
        >>> asks_for_block("How do I start it?"), asks_for_block("How many hearts has it?")
        (True, False)
    """
    return bool(_OPEN.search(question.strip())) or asks_yes_or_no(question)


def heading_cosines(encoder: Encoder, question: str, hits: Sequence[Hit]) -> Reals:
    """Return the cosine of the question and each hit's title and heading; 0 for a passage without them."""
    heads = [passage_head(hit.passage.title, hit.passage.heading) for hit in hits]
    distinct = [head for head in dict.fromkeys(heads) if head]
    vectors = encoder.encode([question, *distinct])
    cosines = dict(zip(distinct, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    return np.array([cosines.get(head, 0.0) for head in heads])


def scored_blocks(
    question: str,
    spans: Sequence[ScoredSpan],
    hits: Sequence[Hit],
    odds: Sequence[TokenOdds],
    headings: Reals,
    weights: Combination,
) -> list[ScoredSpan]:
    """Return the best span of each passage, scored by the passage's block, best first.

    The log-probability of the likeliest sentence replaces that of the span, so that blocks and spans share one scale.
    ``headings`` are the hits' ``heading_cosines``. If the question asks for several things, lists with a mark before each
    item are preferred.
    """
    best_spans: dict[int, ScoredSpan] = {}
    for scored in spans:
        best_spans.setdefault(scored.span.passage_number, scored)
    several = asks_for_several(question)
    blocks = []
    for number, scored in best_spans.items():
        scores = scored.scores
        section = section_lines([hits[number].passage], {0: odds[number]})
        likeliest = int(np.argmax(section.probabilities))
        log_probability = float(np.log(max(section.probabilities[likeliest], 1e-9)))
        listed = several and any(
            structure.start <= likeliest < structure.end and section.lines[structure.parts[0][0]].is_item
            for structure in find_structures(section.lines)
        )
        structure = HEADING * float(headings[number]) + LISTED * listed
        selection = max(scores["selection"], LOWEST_SELECTION)
        score = log_probability + weights.selection * selection + weights.retrieval * scores["retrieval"] + structure
        scores = {**scores, "span": log_probability, "structure": structure}
        blocks.append(replace(scored, score=score, scores=scores))
    return sorted(blocks, key=lambda scored: -scored.score)
