"""Time of an adaptation's stages: estimated in advance, measured as they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from oreqa.adaptation.questions import HELD_OUT_DOCUMENTS, KEYWORD_SHARE
from oreqa.core import Passage
from oreqa.errors import InputError
from oreqa.files import read_json, write_json
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.weights import load_weights

FORESEE, GENERATE, NEGATIVES, TRAIN, TRAIN_CLASSIFIER, ENCODE, MEASURE = (
    "asking first questions", "generating questions", "drawing negatives", "training", "training the classifier",
    "encoding passages", "measuring",
)  # fmt: skip
"""The stages, in order; measuring comes before and after encoding."""

TIMED_PASSAGES = 64
"""Passages whose encoding is timed."""

ASKING, READING, TRAINING, CLASSIFYING = 3.0, 8.0, 14.0, 10.0
"""Costs of a question relative to encoding a passage: to generate it, to read five passages for it, and to train the encoder
and the classifier on it."""

CHECKPOINTS, MODELS = 6, 2
"""Disk in sizes of the encoder's weights: two checkpoints with optimiser state, and the trained and mixed models. A
classifier is about as large."""

RERANKED = 20
"""Passages of a held-out question re-ranked by a classifier."""

PASSING = 0.3
"""Approximate share of the generated questions that pass the filters."""


class Stages:
    """The seconds that each stage took, kept in a ``file``: a resumed run adds to those of earlier runs."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.seconds: dict[str, float] = read_json(file) if file.is_file() else {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0) + perf_counter() - begin, 1)
            with suppress(InputError):  # e.g. a full disk: what fails for it reports it
                write_json(self._file, self.seconds)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The needs of an adaptation: ``seconds`` for each remaining stage, and peak ``bytes`` of disk.

    It is rough, and assumes one epoch of training on a CPU.
    """

    seconds: Mapping[str, float]
    bytes: int


def estimate(
    encoder: Encoder,
    passages: Sequence[Passage],
    questions: int,
    by_rule: int,
    round_trip: bool,
    classifies: bool,
    index_bytes: int,
    first_questions: int = 0,
) -> Estimate:
    """Estimate an adaptation from the ``encoder``'s time for some of the ``passages``.

    ``questions`` will be generated, and read for if there is a ``round_trip``; training also has pairs ``by_rule``, and a
    classifier is trained if it ``classifies``. ``index_bytes`` is the size of the index's copies. The outlook uses
    ``first_questions``.
    """
    sample = [encoder_input(passage) for passage in passages[:: -(-len(passages) // TIMED_PASSAGES)]]
    encoder.encode_passages(sample[:1])  # the first call compiles the model
    begin = perf_counter()
    encoder.encode_passages(sample)
    each = (perf_counter() - begin) / len(sample)
    pairs = (PASSING * questions * (1 + 1 / KEYWORD_SHARE) + by_rule) * (1 - 1 / HELD_OUT_DOCUMENTS)
    seconds = {
        **({FORESEE: (first_questions * ASKING + len(passages)) * each} if first_questions else {}),
        GENERATE: questions * (ASKING + READING * round_trip) * each,
        NEGATIVES: 1.5 * pairs * each,
        TRAIN: pairs * TRAINING * each,
        **({TRAIN_CLASSIFIER: pairs * CLASSIFYING * each} if classifies else {}),
        ENCODE: len(passages) * each,
        MEASURE: (0.2 + classifies * 2 * RERANKED * PASSING / HELD_OUT_DOCUMENTS) * questions * each,
    }
    weights = sum(tensor.nbytes for tensor in load_weights(encoder.folder.path).values())  # all: it may be stored smaller
    while_training = (MODELS * classifies + CHECKPOINTS) * weights
    return Estimate(seconds, max(while_training, (MODELS + classifies) * weights + index_bytes))
