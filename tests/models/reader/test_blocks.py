from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_models import add_block_head

from oreqa.errors import ModelError
from oreqa.models.graph.windows import window_batches
from oreqa.models.reader.blocks import TokenOdds, mean_log_odds
from oreqa.models.reader.reader import Reader

LONG = "The fox, it jumps over the dog. " * 12
PASSAGES = [("Title", LONG), ("", "é😀 Straße fox"), ("t", ""), ("t", "a")]
QUESTION = "what fox"


@pytest.fixture(scope="module")
def block_reader(tiny_reader: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_block_head(tiny_reader, tmp_path_factory.mktemp("blocks") / "reader")


def test_tokens_get_the_mean_of_their_windows(block_reader: Path) -> None:
    reader = Reader(block_reader, precision="f32")
    (reading,) = reader.readings([QUESTION], [PASSAGES])
    assert len(reading.odds) == len(PASSAGES)
    tokens = reader.inputs.tokenize([QUESTION, *(text for pair in PASSAGES for text in pair)])
    for (title, text), odds in zip(PASSAGES, reading.odds, strict=True):
        windows = reader.inputs.windows(tokens[QUESTION], tokens[title], tokens[text])
        assert len(windows) > 2 or text != LONG
        token_odds: list[list[float]] = [[] for _ in tokens[text].ids]
        for window in windows:
            for _, (_, _, _, log_odds) in reader.session.run(window_batches([window])):
                for place in range(window.first, window.last):
                    token_odds[window.begin + place - window.first].append(float(log_odds[0, place]))
        assert np.array_equal(odds.offsets, tokens[text].offsets)
        assert odds.log_odds.tolist() == pytest.approx([sum(values) / len(values) for values in token_odds], abs=1e-4)


@pytest.mark.train
def test_log_odds_are_those_of_torch(block_reader: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.reader.module import open_session

    ours = Reader(block_reader, precision="f32")
    theirs = Reader.of(ours.folder, open_session(ours.folder, "f32", "cpu"))
    (here,), (there,) = (reader.readings([QUESTION], [PASSAGES], k=3) for reader in (ours, theirs))
    for odds, expected in zip(here.odds, there.odds, strict=True):
        assert odds.log_odds.tolist() == pytest.approx(expected.log_odds.tolist(), abs=1e-4)
    assert np.ptp(here.odds[0].log_odds) > 0.1
    assert [span.text for span in here.spans] == [span.text for span in there.spans]


def test_spans_are_those_of_the_reader_without_the_head(block_reader: Path, tiny_reader: Path) -> None:
    (without,) = Reader(tiny_reader, precision="f32").readings([QUESTION], [PASSAGES], k=4)
    (reading,) = Reader(block_reader, precision="f32").readings([QUESTION], [PASSAGES], k=4)
    assert without.odds == ()
    assert [(s.start, s.end, s.passage_number) for s in reading.spans] == [
        (s.start, s.end, s.passage_number) for s in without.spans
    ]
    assert Reader(tiny_reader, precision="f32").readings([], []) == []
    assert Reader(block_reader, precision="f32").readings([QUESTION], [[]])[0].odds == ()


def test_a_head_of_another_width_is_refused(tiny_reader: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"its qa_blocks of shape \(1, 8\) does not fit"):
        Reader(add_block_head(tiny_reader, tmp_path / "narrow", 8))


def test_probability_of_a_part() -> None:
    odds = TokenOdds(np.array([[0, 3], [4, 6], [6, 7]], np.int32), np.array([0, 800, -800], np.float32))
    assert odds.mean_probability(0, 3) == pytest.approx(0.5)
    assert odds.mean_probability(0, 6) == pytest.approx(0.75)
    assert odds.mean_probability(5, 7) == pytest.approx(0.5)
    assert odds.mean_probability(3, 4) == 0.0


def test_windows_that_overlap() -> None:
    windows = [(0, np.array([1, 2], np.float32)), (1, np.array([4, 5], np.float32))]
    assert mean_log_odds(windows, 3).tolist() == [1, 3, 5]
    assert mean_log_odds([(0, np.zeros(0, np.float32))], 0).tolist() == []
