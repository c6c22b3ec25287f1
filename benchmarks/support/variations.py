"""Makes large indexes from small ones, by variations of passages: vectors are moved and words replaced.

Encoding a million passages takes hours. A variation keeps the texts of the passages, so that what is on the disk is
real; in what a search reads, noise is added to each vector, and some words of each passage are replaced by others of the
index.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa import Document, index_documents
from oreqa.index.codes import Codes, quantise, vectors_of
from oreqa.index.generations import CHANGES, DOCUMENTS, MANIFEST, require_generation, write_manifest
from oreqa.index.merging import merge_indexes
from oreqa.index.postings import Postings, postings_of, write_postings
from oreqa.index.segments import BITS, Segment, open_segments

NOISE = 0.7
"""Length of the noise relative to the vector: the two then have a cosine of about 0.82."""

REDRAWN = 0.3
"""Share of a passage's words that are replaced."""

_BLOCK = 20_000


def vary(source: Path, target: Path, seed: int) -> Path:
    """Make an index of as many passages as ``source``, all varied; its documents have keys of their own."""
    generation, copy = require_generation(source), target / "search-000001"
    shutil.rmtree(target, ignore_errors=True)
    copy.mkdir(parents=True)
    (target / "lock").touch()
    for file in generation.iterdir():
        if file.is_file() and file.name != MANIFEST:
            shutil.copyfile(file, copy / file.name)
    for name in (DOCUMENTS, CHANGES):
        if (copy / name).exists():
            with closing(sqlite3.connect(copy / name)) as database, database:
                database.execute("UPDATE documents SET key = key || ?", (f" {seed}",))
    for number, segment in enumerate(open_segments(generation)):
        _vary_segment(segment, generation, copy, seed * 1000 + number)
    write_manifest(copy, {})
    return target


def _vary_segment(segment: Segment, generation: Path, copy: Path, seed: int) -> None:
    shutil.copytree(generation / segment.name, copy / segment.name)
    (copy / segment.name / BITS).unlink(missing_ok=True)
    rng = np.random.default_rng(seed)
    passages = segment.words["passage"].postings
    drawn = np.repeat(passages.words, np.diff(passages.starts))
    owners = np.arange(len(segment.passage_ids))
    for unit, unit_owners in (("passage", owners), ("sentence", segment.sentence_rows)):
        np.save(copy / segment.name / f"{unit}s.npy", _moved(segment.vectors[unit], rng))  # type: ignore[index]
        words = _redrawn(segment.words[unit].postings, unit_owners, drawn, seed)  # type: ignore[index]
        write_postings(words, copy / segment.name / f"{unit}s.words.npy")


def _moved(codes: Codes, rng: np.random.Generator) -> Codes:
    """Return unit vectors with noise."""
    blocks = []
    for begin in range(0, len(codes), _BLOCK):
        vectors = vectors_of(codes[begin : begin + _BLOCK])
        noise = rng.standard_normal(vectors.shape, np.float32)
        vectors += noise * np.float32(NOISE / np.sqrt(vectors.shape[1]))
        blocks.append(quantise(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    return np.concatenate(blocks)


def _redrawn(postings: Postings, owners: NDArray[np.integer], drawn: NDArray[np.int32], seed: int) -> Postings:
    """Replace words in postings, alike for a passage and its sentences: which ones depends on a hash of passage and word."""
    numbers = np.repeat(postings.words, np.diff(postings.starts))
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= owners[postings.rows].astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ np.uint64(seed * 0x165667B19E3779F9 & (2**64 - 1))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    others = drawn[(mixed >> np.uint64(8)) % np.uint64(len(drawn))]
    words = np.where(mixed % np.uint64(100) < np.uint64(100 * REDRAWN), others, numbers)
    order = np.argsort(postings.rows, kind="stable")
    return postings_of((np.repeat(words[order], postings.counts[order]), postings.lengths.astype(np.int64)))


def grow(base: Path, work: Path, size: int, shard: int) -> Path:
    """Make an index of about ``size`` passages in merged shards of about ``shard``: the base and variations of it.

    A shard is one segment, because the update after its merge joins its parts.
    """
    first = merged(work / "shard-0", [base, *_variations(base, work, range(1, shard // _passages(base)))])
    index_documents(first, Document("the end of a shard", "", "This is the end of a shard."))
    shards = [first, *_variations(first, work, range(1000, 1000 + size // _passages(first) - 1))]
    return merged(work / f"grown-{size}", shards)


def _variations(source: Path, work: Path, seeds: Sequence[int]) -> list[Path]:
    return [vary(source, work / f"varied-{seed}", seed) for seed in seeds]


def merged(target: Path, parts: Sequence[Path]) -> Path:
    """Merge several indexes into a new one."""
    shutil.rmtree(target, ignore_errors=True)
    merge_indexes(target, parts)
    return target


def _passages(index: Path) -> int:
    return sum(map(len, open_segments(require_generation(index))))
