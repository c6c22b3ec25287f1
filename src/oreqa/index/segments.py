"""Segments: the search files of some passages, written once and never changed.

A generation's segments are folders named by the id of their first passage, so that they sort in the order of the passages.
An update adds one segment with what is new, shares the files of the others with the previous generation, and records which
of their passages are deleted. To keep them few, segments of similar size are merged as they accumulate, and a segment with
more than half of its passages deleted is rewritten without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ids, Ints, Rows, check_whole, mapped_array
from oreqa.core import UNITS, Unit
from oreqa.index.bits import Bits, bits_of, mapped_bits, searched_by_bits
from oreqa.index.codes import Codes, mapped_codes
from oreqa.index.generations import link_file, read_manifest, require_intact
from oreqa.index.postings import LivePostings, Postings, joined, mapped_postings, write_postings

DEAD = "dead.npy"
"""The rows of a segment's deleted passages: the one file that generations never share."""

BITS = "passages.bits.npy"
"""The bits of the passage vectors of a large segment."""

FIRST_TIER, RATIO = 256, 4
"""Size tiers: the first has segments of up to ``FIRST_TIER`` passages, and each next tier is ``RATIO`` times as large;
``RATIO`` segments of one tier are merged."""

LARGEST = 65_536
"""Larger segments are not merged with each other, and an update merges at most ``RATIO`` times as many passages, so that the
memory for merging does not grow with the index."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """An open segment. ``sentence_rows`` are the rows of the sentences' passages in it, deleted ones included.

    A large one on disk has the ``bits`` of its passage vectors.
    """

    name: str
    passage_ids: Ids
    sentence_ids: Ids
    sentence_rows: Ints
    vectors: Mapping[Unit, Codes]
    words: Mapping[Unit, LivePostings]
    bits: Bits | None = None

    def __len__(self) -> int:
        """Return the number of live passages."""
        return len(self.words["passage"])

    def ids(self, unit: Unit) -> Ids:
        """Return the ids of the live passages or sentences."""
        every = self.passage_ids if unit == "passage" else self.sentence_ids
        part = self.words[unit]
        return every[part.live] if len(part.dead) else every

    def owners(self) -> Ints:
        """Return, for each live sentence, the place of its passage among the live ones."""
        part = self.words["passage"]
        if not len(part.dead):
            return self.sentence_rows
        places = np.zeros(len(self.passage_ids), np.int32)
        places[part.live] = np.arange(len(part))
        return places[self.sentence_rows[self.words["sentence"].live]]

    def codes(self, unit: Unit) -> Codes:
        """Return the codes of live passages or sentences."""
        part = self.words[unit]
        return self.vectors[unit][part.live] if len(part.dead) else self.vectors[unit]

    def codes_of(self, passage_id: int) -> Codes | None:
        """Return the codes of a passage and of its sentences; None if the segment does not contain it."""
        row = int(np.searchsorted(self.passage_ids, passage_id))
        if row == len(self.passage_ids) or self.passage_ids[row] != passage_id:
            return None
        begin, end = np.searchsorted(self.sentence_rows, (row, row + 1))
        return np.concatenate([self.vectors["passage"][row : row + 1], self.vectors["sentence"][begin:end]])

    def without(self, dead: Rows) -> Segment:
        """Return the segment with exactly these passage rows, rising, deleted."""
        is_dead = np.zeros(len(self.passage_ids), bool)
        is_dead[dead] = True
        unit_rows: dict[Unit, Rows] = {"passage": dead, "sentence": np.flatnonzero(is_dead[self.sentence_rows])}
        parts = {unit: LivePostings.of(self.words[unit].postings, rows) for unit, rows in unit_rows.items()}
        return replace(self, words=parts)


def open_segments(generation: Path, damaged: Collection[str] = ()) -> list[Segment]:
    """Open the segments in a generation's manifest, in passage order, mapped into memory.

    Those with ``damaged`` files are omitted, or have no bits if only these are damaged. Other contents of the folder are
    ignored. Raises IndexStateError or OSError if a segment is being removed.
    """
    files = read_manifest(generation)
    omitted = {name.partition("/")[0] for name in damaged if not name.endswith(f"/{BITS}")}
    names = sorted({name.partition("/")[0] for name in files if "/" in name} - omitted)
    intact = files.keys() - damaged
    return [_open(generation / name, f"{name}/{DEAD}" in files, f"{name}/{BITS}" in intact) for name in names]


def _open(folder: Path, has_dead: bool, has_bits: bool) -> Segment:
    names = ("passage_ids", "sentence_ids", "sentence_rows")
    ids, sentences, owners = (mapped_array(folder / f"{name}.npy") for name in names)
    counts: dict[Unit, int] = {"passage": len(ids), "sentence": len(sentences)}
    vectors = {unit: mapped_codes(folder / f"{unit}s.npy", counts[unit]) for unit in UNITS}
    words = {unit: LivePostings.of(mapped_postings(folder / f"{unit}s.words.npy", counts[unit])) for unit in UNITS}
    bits = mapped_bits(folder / BITS, vectors["passage"]) if has_bits else None
    segment = Segment(folder.name, ids, sentences, owners, vectors, words, bits)
    return segment.without(np.load(folder / DEAD)) if has_dead else segment


def segment_of(
    passage_ids: Ids, sentence_ids: Ids, sentence_rows: Ints, vectors: Mapping[Unit, Codes], words: Mapping[Unit, Postings]
) -> Segment:
    """Build a new segment, not yet written."""
    parts: dict[Unit, LivePostings] = {unit: LivePostings.of(words[unit]) for unit in UNITS}
    first = int(passage_ids[0]) if len(passage_ids) else 0
    return Segment(f"segment-{first:012}", passage_ids, sentence_ids, sentence_rows, vectors, parts)


def write_segment(segment: Segment, folder: Path, same: Path | None = None) -> dict[str, str]:
    """Write the files of a new segment into a generation's ``folder``. Raises OSError if the disk is full.

    If the published segment in ``same`` has the same vectors, they are shared. Returns the names of the shared files in the
    generation, mapped to their names there.
    """
    (folder / segment.name).mkdir()
    arrays: dict[str, NDArray[Any]] = {"passage_ids": segment.passage_ids, "sentence_ids": segment.sentence_ids}
    others = {"sentence_rows": segment.sentence_rows, **{f"{unit}s": segment.vectors[unit] for unit in UNITS}}
    shared = {f"{segment.name}/{name}.npy": f"{same.name}/{name}.npy" for name in others} if same else {}
    for name, theirs in shared.items():
        assert same is not None
        link_file(same.parent / theirs, folder / name)
    for name, array in (arrays if same else {**arrays, **others}).items():
        _save(folder / segment.name / f"{name}.npy", array)
    _write_bits(segment, folder)
    for unit in UNITS:
        write_postings(segment.words[unit].postings, folder / segment.name / f"{unit}s.words.npy")
    return shared


def link_segment(segment: Segment, before: Path, folder: Path) -> list[str]:
    """Share the files of a segment of the generation ``before``, and write which of its passages are deleted.

    A large one without bits gets them. Returns the names of the shared files in the generation.
    """
    not_shared = {DEAD} if segment.bits is not None else {DEAD, BITS}
    segment_files = [name for name in read_manifest(before) if name.startswith(f"{segment.name}/")]
    shared = [name for name in segment_files if Path(name).name not in not_shared]
    for name in shared:
        link_file(before / name, folder / name)
    if len(dead := segment.words["passage"].dead):
        _save(folder / segment.name / DEAD, dead)
    if segment.bits is None and searched_by_bits(segment.vectors["passage"]):
        require_intact(before, [f"{segment.name}/passages.npy"])
        _write_bits(segment, folder)
    return shared


def _write_bits(segment: Segment, folder: Path) -> None:
    if searched_by_bits(segment.vectors["passage"]):
        _save(folder / segment.name / BITS, bits_of(segment.vectors["passage"]))


def _save(path: Path, array: NDArray[Any]) -> None:
    np.save(path, array)
    check_whole(path)


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """Merge the live content of adjacent segments."""
    starts = np.cumsum([0, *(len(segment) for segment in segments)])
    owners = [segment.owners() + start for segment, start in zip(segments, starts, strict=False)]
    ids: dict[Unit, Ids] = {unit: np.concatenate([segment.ids(unit) for segment in segments]) for unit in UNITS}
    vectors: dict[Unit, Codes] = {unit: np.concatenate([segment.codes(unit) for segment in segments]) for unit in UNITS}
    words: dict[Unit, Postings] = {unit: joined([segment.words[unit] for segment in segments]) for unit in UNITS}
    return segment_of(ids["passage"], ids["sentence"], np.concatenate(owners).astype(np.int32), vectors, words)


def segments_to_merge(sizes: Sequence[int], most: int = RATIO * LARGEST) -> range:
    """Return which adjacent segments to merge, given their numbers of live passages; an empty range if none.

    ``RATIO`` segments of one tier are merged, together with the smaller ones among them, but ``most`` passages at once: the
    first segments are then left out. Segments above ``LARGEST`` separate the others; when one was appended, it takes the
    smaller ones before it along.

    Examples:
        >>> segments_to_merge([5000, 900, 3, 1, 1, 1])
        range(2, 6)
        >>> segments_to_merge([5000, 900, 3, 1, 1])
        range(5, 5)
        >>> segments_to_merge([900, 3, 70_000])
        range(0, 3)
    """
    below, limit = 0, FIRST_TIER
    while limit <= LARGEST:
        for begin, end in reversed(_runs_up_to(limit, sizes)):
            if sum(size > below for size in sizes[begin:end]) >= RATIO:
                first = _first_within(most, sizes, begin, end)
                if end - first >= RATIO:
                    return range(first, end)
        below, limit = limit, limit * RATIO
    end = len(sizes)
    if end and sizes[-1] > LARGEST:
        begin = max((place + 1 for place, size in enumerate(sizes[:-1]) if size > LARGEST), default=0)
        first = _first_within(most, sizes, begin, end)
        if end - first > 1:
            return range(first, end)
    return range(end, end)


def _runs_up_to(limit: int, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the bounds of the longest runs of adjacent segments of at most ``limit`` passages."""
    bounds = [-1, *(place for place, size in enumerate(sizes) if size > limit), len(sizes)]
    return [(before + 1, end) for before, end in pairwise(bounds) if end > before + 1]


def _first_within(most: int, sizes: Sequence[int], begin: int, end: int) -> int:
    """Return the first of the segments up to ``end`` that have at most ``most`` passages together."""
    while begin < end and sum(sizes[begin:end]) > most:
        begin += 1
    return begin
