from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from oreqa.models.extractor.inputs import ExtractorInputs


@pytest.mark.parametrize(("title", "front"), [("t u", "[CLS] t u [SEP]"), ("", "[CLS] [SEP]")])
def test_the_title_stands_in_front(tiny: Path, title: str, front: str) -> None:
    inputs = ExtractorInputs(tiny / "tokenizer.json", 20, overlap=4)
    titled, passage = (inputs.tokenize([text])[text] for text in (title, "c d e"))
    (window,) = inputs.windows(titled, passage)
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    assert " ".join(tokenizer.id_to_token(i) for i in window.ids) == f"{front} c d e [SEP]"
    assert window.segment == window.first == len(front.split())


def test_windows_cover_the_passage_and_overlap(tiny: Path) -> None:
    inputs = ExtractorInputs(tiny / "tokenizer.json", 20, overlap=4)
    title, passage = inputs.tokenize(["t " * 90, " ".join("abcdefghijklmnopqrstuvwxyz" * 3)]).values()
    windows = inputs.windows(title, passage)
    seen = [range(w.begin, w.begin + w.last - w.first) for w in windows]
    assert {t for r in seen for t in r} == set(range(len(passage.ids)))
    assert all(a.stop - b.start == 4 for a, b in pairwise(seen))
    assert all(len(window.ids) <= 20 and window.last - window.first >= 9 for window in windows[:-1])
