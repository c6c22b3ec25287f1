"""The inverse cloze task: a sentence as the question, its passage without it as the answer (Lee et al. 2019, section 5)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from oreqa.arguments import as_index_folder, as_path, count, share
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import load_passages
from oreqa.datasets.pairs import Candidate, Pair, pair_row
from oreqa.errors import InputError
from oreqa.files import need_new, write_jsonl
from oreqa.index.search import Index
from oreqa.progress import Advance, Progress, no_progress, show

KEPT_SHARE = 0.1
"""Share of the pairs whose passage keeps the sentence, so that shared words are learned, too."""


def mine_cloze(
    out: str | Path,
    *,
    data: str | Path | None = None,
    index: str | Path | None = None,
    per_passage: int = 1,
    kept: float = KEPT_SHARE,
    seed: int = 0,
    progress: Progress = no_progress,
) -> int:
    """Write to ``out`` pairs of a sentence and its passage, to pretrain a retriever without questions.

    The passages are those of ``data`` (a SQuAD or MRQA file or a BEIR folder) or of an ``index``. Of each,
    ``per_passage`` sentences are drawn by ``seed``, or as many as it has; the passage omits its sentence, except in a
    share ``kept``. Passages of a single sentence are skipped. Returns the number of pairs. Raises InputError unless
    exactly one of ``data`` and ``index`` is named, for data that cannot be read or have no passage of two sentences, and
    if ``out`` exists.
    """
    if (data is None) == (index is None):
        raise InputError("name either data or an index to draw sentences from")
    per_passage, kept = count(per_passage, "per_passage"), share(kept, "the share kept")
    out, rng, written = as_path(out, "out"), random.Random(count(seed, "seed", 0)), 0
    need_new(out, "draw anew")

    def rows(advance: Advance) -> Iterator[dict[str, object]]:
        nonlocal written
        for passage in _passages(data, index):
            for pair in cloze_pairs(passage, per_passage, kept, rng):
                written += 1
                yield pair_row(pair)
            advance(1)
        if not written:
            raise InputError(f"{data or index}: no passage of two sentences")

    with show(progress, "drawing sentences") as advance:
        write_jsonl(out, rows(advance))
    return written


def cloze_pairs(passage: Passage, per_passage: int, kept: float, rng: random.Random) -> list[Pair]:
    """Return pairs of up to ``per_passage`` sentences of a passage with the passage; none for a single sentence."""
    sentences = [sentence for sentence in passage.sentences if any(map(str.isalnum, sentence.text))]
    if len(sentences) < 2:
        return []
    pairs = []
    for sentence in rng.sample(sentences, min(per_passage, len(sentences))):
        start, end = sentence.start - passage.start, sentence.end - passage.start
        before, after = passage.text[:start].rstrip(), passage.text[end:].lstrip()
        text = passage.text if rng.random() < kept else f"{before} {after}".strip()
        name = f"{passage.document_key}:{passage.start}"
        pairs.append(Pair(sentence.text, Candidate(text, text, passage_head(passage.title, passage.heading)), passage=name))
    return pairs


def _passages(data: str | Path | None, index: str | Path | None) -> Iterator[Passage]:
    if data is not None:
        yield from load_passages(as_path(data, "data"))
    if index is not None:
        with Index.open(as_index_folder(index)) as opened:
            yield from opened.passages()
