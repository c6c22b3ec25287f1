"""What answers as a whole: the smallest list, code, rows, definition or few sentences that hold what a reader marks.

A reader with a head for blocks gives each token's probability to belong to what answers. Sentences and items that reach a
share of the best one are chosen, and closed: a list is never cut, and comes with its lead-in, code with the sentence that
introduces it, a row with its header, a definition with its term. What the end of a passage cuts goes on in the next ones of
its section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oreqa.arrays import Reals
from oreqa.core import Answer, AnswerBlock, Hit, Passage, Piece, Sentence
from oreqa.index.snapshot import Snapshot
from oreqa.models.reader.blocks import TokenOdds
from oreqa.text.structures import Structure, TextLine, find_structures

MAX_SENTENCES = 5
"""The most sentences of a block, without those that close a structure."""

CHOSEN_SHARE = 0.4
"""The least probability of a sentence that is chosen, as a share of the best one's."""

MAX_LIST, MAX_DEFINITION = 20, 9
"""Lines of the longest list that is shown whole for one of its items, and of the longest definition that is."""

BEFORE, BEHIND = 3, 6
"""Passages of the same section that are looked at before and behind the one that was read."""


def with_blocks(
    answers: Sequence[Answer], hits: Sequence[Hit], odds: Sequence[TokenOdds], snapshot: Snapshot
) -> list[Answer]:
    """The answers, each with the block around its sentence. ``odds`` are the reader's, of each of the ``hits``; without any,
    answers stay as they are."""
    if not odds:
        return list(answers)
    by_id = {hit.passage_id: of_hit for hit, of_hit in zip(hits, odds, strict=True)}
    blocks = []
    for answer in answers:
        passage_id = next(hit.passage_id for hit in hits if hit.passage is answer.passage)
        section = snapshot.section(passage_id, BEFORE, BEHIND)
        read = {place: by_id[number] for place, number in enumerate(section) if number in by_id}
        stretch = stretch_of(list(section.values()), read)
        blocks.append(find_block(stretch, stretch.sentences.index(answer.sentence)))
    return [replace(answer, block=block) for answer, block in zip(answers, blocks, strict=True)]


@dataclass(frozen=True, slots=True)
class SectionLines:
    """Consecutive passages of one section as lines, with where each comes from and its probability; NaN if not read."""

    lines: tuple[TextLine, ...]
    passages: tuple[Passage, ...]
    sentences: tuple[Sentence, ...]
    probabilities: Reals


def stretch_of(passages: Sequence[Passage], odds: Mapping[int, TokenOdds]) -> SectionLines:
    """Passages that follow each other in a section, with the reader's ``odds`` of those that it read, by their place."""
    lines, owners, probabilities = list[TextLine](), list[Passage](), list[float]()
    for place, passage in enumerate(passages):
        end = 0
        for sentence in passage.sentences:
            start = sentence.start - passage.start
            before = passage.text[end:start] if end else _gap(passages[place - 1] if place else None, passage)
            lines.append(TextLine(sentence.text, before))
            owners.append(passage)
            end = sentence.end - passage.start
            probabilities.append(odds[place].mean_probability(start, end) if place in odds else np.nan)
    sentences = tuple(sentence for passage in passages for sentence in passage.sentences)
    return SectionLines(tuple(lines), tuple(owners), sentences, np.array(probabilities))


def _gap(before: Passage | None, passage: Passage) -> str:
    """What stands before a passage: blanks of its paragraph that was cut, else a blank line."""
    return "\n\n" if before is None or passage.start - before.end > 1 else "\n"


def find_block(stretch: SectionLines, place: int) -> AnswerBlock:
    """The block that holds the sentence at ``place`` of a stretch, and the likeliest sentence of its passage."""
    structures = find_structures(stretch.lines)
    chosen = _closed({place, *_likely(stretch, place)}, stretch, structures)
    touched = {structure.kind for structure in structures if not chosen.isdisjoint(range(structure.start, structure.end))}
    probabilities = stretch.probabilities[sorted(chosen)]
    kind = touched.pop() if len(touched) == 1 else "text"
    return AnswerBlock(_pieces(stretch, sorted(chosen)), kind, float(np.nanmean(probabilities)))


def _likely(stretch: SectionLines, place: int) -> list[int]:
    """The likeliest sentences of the passage that the sentence at ``place`` stands in, ``MAX_SENTENCES`` at most."""
    inside = [number for number, passage in enumerate(stretch.passages) if passage is stretch.passages[place]]
    ranked = sorted(inside, key=lambda number: -stretch.probabilities[number])[:MAX_SENTENCES]
    floor = CHOSEN_SHARE * stretch.probabilities[ranked[0]]
    return [number for number in ranked if stretch.probabilities[number] >= floor]


def _closed(chosen: set[int], stretch: SectionLines, structures: Sequence[Structure]) -> set[int]:
    """``chosen`` with what belongs to it of the structures that it touches."""
    closed = set(chosen)
    for number, structure in enumerate(structures):
        inside = closed & set(range(structure.start, structure.end))
        if not inside:
            continue
        parts = [part for part in structure.parts if not inside.isdisjoint(range(*part))]
        if _is_shown_whole(structure, len(parts)):
            closed |= set(range(structure.start, structure.end))
            if number + 1 < len(structures) and _explains(structures[number + 1], structure, stretch):
                closed.add(structure.end)
        elif structure.kind == "list":
            closed |= {line for part in parts for line in range(*part)}
        closed |= set(range(structure.start, structure.parts[0][0]))
    return closed


def _is_shown_whole(structure: Structure, parts: int) -> bool:
    """Whether a structure of which so many parts were chosen is never cut."""
    if structure.kind == "list":
        return structure.ordered or parts != 1 or structure.end - structure.start <= MAX_LIST
    return structure.kind == "code" or (structure.kind == "definition" and structure.end - structure.start <= MAX_DEFINITION)


def _explains(behind: Structure, code: Structure, stretch: SectionLines) -> bool:
    """Whether code goes on as a list of remarks, without a blank line between them."""
    follows = (code.kind, behind.kind, behind.parts[0][0]) == ("code", "list", code.end)
    return follows and not stretch.lines[code.end].begins_paragraph


def _pieces(stretch: SectionLines, chosen: Sequence[int]) -> tuple[Piece, ...]:
    """The runs of lines in each passage, in order."""
    pieces: list[Piece] = []
    first = 0
    for number, place in enumerate(chosen):
        behind = chosen[number + 1] if number + 1 < len(chosen) else None
        if behind == place + 1 and stretch.passages[behind] is stretch.passages[place]:
            continue
        passage = stretch.passages[place]
        start, end = _start(stretch, chosen[first]), _end(stretch, place)
        cut = bool(pieces) and chosen[first - 1] + 1 != chosen[first]
        pieces.append(Piece(passage.text[start - passage.start : end - passage.start], start, end, cut))
        first = number + 1
    return tuple(pieces)


def _start(stretch: SectionLines, place: int) -> int:
    """Where a line starts, with what is no sentence before it, as the mark of a command."""
    return stretch.sentences[place].start - len(stretch.lines[place].before.rpartition("\n")[2].lstrip())


def _end(stretch: SectionLines, place: int) -> int:
    """Where a line ends, with lines of its paragraph behind it that are no sentences, as a closing brace."""
    sentence, passage = stretch.sentences[place], stretch.passages[place]
    is_last = place + 1 == len(stretch.lines) or stretch.passages[place + 1] is not passage
    rest = passage.text[sentence.end - passage.start :] if is_last else stretch.lines[place + 1].before.rpartition("\n")[0]
    return sentence.end + len(rest.partition("\n\n")[0].rstrip())
