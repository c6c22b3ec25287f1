"""Passage vectors by the hash of the encoder's input: from an index's segments, and from an update in progress.

A passage is encoded once: its codes are reused from the segments of the previous generation, wherever its text is now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.index.codes import Codes, quantise
from oreqa.index.drafts import passage_ids
from oreqa.index.engines.milvus import COUNTS, DEAD_IDS, STATE, MilvusEngine
from oreqa.index.journal import Journal
from oreqa.index.segments import open_segments
from oreqa.index.store import open_documents, read_setting, read_settings
from oreqa.models.encoder.encoder import Encoder
from oreqa.progress import Advance, part_of

_VERSION = "6"
"""Increase this when a code change gives the same passage another encoding or other words."""


class Published:
    """The passages of a generation that are in undamaged segments or in Milvus; ``damaged`` names the damaged files."""

    def __init__(self, generation: Path, damaged: Collection[str]) -> None:
        self.generation = generation
        self._documents = open_documents(generation)
        engine = read_settings(self._documents).engine
        self.segments = [] if engine else open_segments(generation, damaged)
        self.milvus = None
        if engine and not {STATE, COUNTS, DEAD_IDS}.intersection(damaged):
            self.milvus = MilvusEngine(generation, lambda: passage_ids(self._documents))
        self._fetched: dict[int, Codes] = {}
        self.encoder = read_setting(self._documents, "encoded_by")

    def close(self) -> None:
        """Close the documents."""
        self._documents.close()

    def codes(self, digest: bytes) -> Codes | None:
        """Return the codes of a passage and its sentences by hash; None if no segment contains it."""
        numbers = self._documents.execute("SELECT id FROM passages WHERE encoding = ?", (digest,)).fetchall()
        if self.milvus is not None and numbers:
            number = numbers[0][0]
            if number not in self._fetched:
                codes = self.milvus.fetch(np.array([number], np.int64)).codes_of(number)
                assert codes is not None
                self._fetched[number] = codes
            return self._fetched[number]
        parts = (segment.codes_of(number) for (number,) in numbers for segment in self.segments)
        return next((codes for codes in parts if codes is not None), None)


class Encodings:
    """Passage codes by hash for one update of an index: from published segments and from the journal."""

    def __init__(self, folder: Path, fingerprint: str, generation: Path | None, damaged: Collection[str] = ()) -> None:
        self.encoder = f"{_VERSION} {fingerprint}"
        self._journal = Journal(folder, self.encoder)
        published = generation and Published(generation, damaged)
        self.published = published if published and published.encoder == self.encoder else None

    def close(self) -> None:
        """Close what was opened for reading."""
        if self.published:
            self.published.close()

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._journal or self._published_codes(digest) is not None

    def encode(self, passages: Mapping[bytes, Passage], encoder: Encoder, advance: Advance) -> None:
        """Encode passages, keyed by hash, and write the result to the journal."""
        matrices = encoder.encode_passages(
            [encoder_input(passage) for passage in passages.values()], progress=part_of(advance)
        )
        self._journal.append({digest: quantise(matrix) for digest, matrix in zip(passages, matrices, strict=True)})

    def read(self, digests: Sequence[bytes]) -> Iterator[Codes]:
        """Yield the codes of available passages, in order."""
        new = self._journal.read(digests)
        for digest in digests:
            codes = new[digest] if digest in new else self._published_codes(digest)
            assert codes is not None
            yield codes

    def end(self) -> None:
        """End the journal: the entries that were used are now published."""
        self._journal.end(lambda digest: self._published_codes(digest) is not None)

    def _published_codes(self, digest: bytes) -> Codes | None:
        return self.published.codes(digest) if self.published else None


def encoder_input(passage: Passage) -> tuple[str, str, list[tuple[int, int]]]:
    """Return the encoder's input for a passage: head, text, and the sentences' character offsets into the text."""
    spans = [(s.start - passage.start, s.end - passage.start) for s in passage.sentences]
    return passage_head(passage.title, passage.heading), passage.text, spans


def passage_hash(passage: Passage) -> bytes:
    """Return the SHA-256 of a passage's encoder input."""
    return hashlib.sha256(json.dumps(encoder_input(passage)).encode()).digest()
