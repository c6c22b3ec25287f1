"""Finds the block that answers: the smallest list, code, rows, definition or few sentences around what a reader marks.

A reader with a block head gives each token's probability of belonging to the answer. Sentences and items that reach a
share of the best one's probability are chosen and completed: a list is never cut and keeps its lead-in, code keeps the
sentence that introduces it, a row its header, a definition its term. A structure cut at the end of a passage continues
in the next passages of the section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from oreqa.answer import Answer, AnswerBlock, Piece
from oreqa.arrays import Reals
from oreqa.core import Hit, Passage, Sentence
from oreqa.index.snapshot import Snapshot
from oreqa.models.reader.blocks import TokenOdds
from oreqa.text.structures import Structure, TextLine, find_structures

MAX_SENTENCES = 5
"""The most sentences in a block, not counting those that complete a structure."""

NEAR_SHARE, APART_SHARE = 0.5, 0.7
"""Shares of the best sentence's probability: neighbours are added while their average exceeds the first; a sentence
elsewhere must reach the second."""

MAX_LIST, MAX_ITEMS, MAX_DEFINITION = 60, 20, 9
"""The most lines of an unordered list that is shown whole if several of its items were chosen, and if one was; and of a
definition that is shown whole."""

BEFORE, BEHIND = 3, 6
"""Passages of the same section examined before and after the one that was read."""


def with_blocks(
    answers: Sequence[Answer],
    hits: Sequence[Hit],
    odds: Sequence[TokenOdds],
    snapshot: Snapshot,
    form: Literal["text", "block"] = "text",
) -> list[Answer]:
    """Return the answers in this ``form``, each with the block around its sentence.

    ``odds`` are the reader's token probabilities for each of the ``hits``; if empty, the answers are unchanged.
    """
    if not odds:
        return list(answers)
    by_id = {hit.passage_id: hit_odds for hit, hit_odds in zip(hits, odds, strict=True)}
    blocks = []
    for answer in answers:
        passage_id = next(hit.passage_id for hit in hits if hit.passage is answer.passage)
        section = snapshot.section(passage_id, BEFORE, BEHIND)
        read = {place: by_id[number] for place, number in enumerate(section) if number in by_id}
        stretch = section_lines(list(section.values()), read)
        blocks.append(find_block(stretch, stretch.sentences.index(answer.sentence)))
    return [replace(answer, block=block, form=form) for answer, block in zip(answers, blocks, strict=True)]


@dataclass(frozen=True, slots=True)
class SectionLines:
    """Consecutive passages of one section as lines, each with its origin and its probability; NaN if not read."""

    lines: tuple[TextLine, ...]
    passages: tuple[Passage, ...]
    sentences: tuple[Sentence, ...]
    probabilities: Reals


def section_lines(passages: Sequence[Passage], odds: Mapping[int, TokenOdds]) -> SectionLines:
    """Return consecutive passages of a section as lines; ``odds`` are the reader's, by the place of a passage it read."""
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
    """Return what separates a passage from the one before: the blanks of a paragraph cut there, else a blank line."""
    return "\n\n" if before is None or passage.start - before.end > 1 else "\n"


def find_block(section: SectionLines, place: int) -> AnswerBlock:
    """Return the block around the sentence at ``place`` of a section and the likeliest sentences of its passage."""
    structures = find_structures(section.lines)
    chosen = _closed({place, *_likely(section, place)}, section, structures)
    touched = {structure.kind for structure in structures if not chosen.isdisjoint(range(structure.start, structure.end))}
    probabilities = section.probabilities[sorted(chosen)]
    kind = touched.pop() if len(touched) == 1 else "text"
    return AnswerBlock(_pieces(section, sorted(chosen)), kind, float(np.nanmean(probabilities)))


def _likely(section: SectionLines, place: int) -> list[int]:
    """Return up to ``MAX_SENTENCES`` of the likeliest sentences in the passage that contains the sentence at ``place``."""
    inside = [number for number, passage in enumerate(section.passages) if passage is section.passages[place]]
    probabilities = section.probabilities[inside]
    best = int(np.argmax(probabilities))
    surplus = probabilities - NEAR_SHARE * probabilities[best]
    first, last = best - _reach(surplus[:best][::-1]), best + _reach(surplus[best + 1 :])
    near = range(first, last + 1)
    ranked = sorted(range(len(inside)), key=lambda number: -probabilities[number])
    distant_threshold = APART_SHARE * probabilities[best]
    likely = [number for number in ranked if number in near or probabilities[number] >= distant_threshold]
    return [inside[number] for number in likely[:MAX_SENTENCES]]


def _reach(surplus: Reals) -> int:
    """Return how many leading values give the greatest sum; 0 if no sum is above 0."""
    sums = np.cumsum(surplus[: MAX_SENTENCES - 1])
    return int(np.argmax(sums)) + 1 if sums.size and sums.max() > 0 else 0


def _closed(chosen: set[int], section: SectionLines, structures: Sequence[Structure]) -> set[int]:
    """Extend ``chosen`` by the lines that complete the structures it touches."""
    closed = set(chosen)
    for number, structure in enumerate(structures):
        inside = closed & set(range(structure.start, structure.end))
        if not inside:
            continue
        parts = [part for part in structure.parts if not inside.isdisjoint(range(*part))]
        if _is_shown_whole(structure, len(parts)):
            closed |= set(range(structure.start, structure.end))
            if number + 1 < len(structures) and _explains(structures[number + 1], structure, section):
                closed.add(structure.end)
        elif structure.kind == "list":
            closed |= {line for part in parts for line in range(*part)}
        closed |= set(range(structure.start, structure.parts[0][0]))
    return closed


def _is_shown_whole(structure: Structure, parts: int) -> bool:
    """Return whether a structure with ``parts`` chosen parts is never cut."""
    if structure.kind == "list":
        return structure.ordered or structure.end - structure.start <= (MAX_ITEMS if parts == 1 else MAX_LIST)
    return structure.kind == "code" or (structure.kind == "definition" and structure.end - structure.start <= MAX_DEFINITION)


def _explains(following: Structure, code: Structure, section: SectionLines) -> bool:
    """Return whether a list of remarks follows the code without a blank line."""
    follows = (code.kind, following.kind, following.parts[0][0]) == ("code", "list", code.end)
    return follows and not section.lines[code.end].begins_paragraph


def _pieces(section: SectionLines, chosen: Sequence[int]) -> tuple[Piece, ...]:
    """Return the runs of chosen lines in each passage, in order."""
    pieces: list[Piece] = []
    first = 0
    for number, place in enumerate(chosen):
        following = chosen[number + 1] if number + 1 < len(chosen) else None
        if following == place + 1 and section.passages[following] is section.passages[place]:
            continue
        passage = section.passages[place]
        start, end = _start(section, chosen[first]), _end(section, place)
        cut = bool(pieces) and chosen[first - 1] + 1 != chosen[first]
        pieces.append(Piece(passage.text[start - passage.start : end - passage.start], start, end, cut))
        first = number + 1
    return tuple(pieces)


def _start(section: SectionLines, place: int) -> int:
    """Return where a line starts, including what precedes its sentence, such as a prompt."""
    return section.sentences[place].start - len(section.lines[place].before.rpartition("\n")[2].lstrip())


def _end(section: SectionLines, place: int) -> int:
    """Return where a line ends, including following lines of its paragraph that are no sentences, e.g. a closing brace."""
    sentence, passage = section.sentences[place], section.passages[place]
    is_last = place + 1 == len(section.lines) or section.passages[place + 1] is not passage
    rest = passage.text[sentence.end - passage.start :] if is_last else section.lines[place + 1].before.rpartition("\n")[0]
    return sentence.end + len(rest.partition("\n\n")[0].rstrip())
