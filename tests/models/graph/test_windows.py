from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from templates import byte_level, metaspace

from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.graph.windows import padded_windows
from oreqa.models.reader.inputs import ReaderInputs


def test_a_pair_is_what_the_tokenizer_makes_of_it(tiny: Path, tmp_path: Path) -> None:
    question, passage = "an octopus", "it has three hearts."
    paths = [tiny / "tokenizer.json", byte_level(tmp_path / "bytes")]
    paths += [metaspace(tmp_path / f"{i}", *parts) for i, parts in enumerate([("<s>", "</s>", "</s>"), ("", "", "</s>")])]
    for path in paths:
        inputs = ReaderInputs(path, 64, titles=False)
        tokens = inputs.tokenize([question, passage])
        (window,) = inputs.windows(tokens[question], None, tokens[passage])
        expected = inputs.tokenizer.encode(question, passage)
        ids, mask, types = padded_windows([window])
        assert (ids[0].tolist(), types[0].tolist()) == (expected.ids, _second(expected))
        assert mask.all()
        assert [i for i, text in enumerate(expected.sequence_ids) if text == 1] == list(range(window.first, window.last))


def _second(encoding: object) -> list[int]:
    """The types that BERT gives to what the template calls the second text; one-segment tokenizers give 0."""
    types: list[int] = encoding.type_ids  # type: ignore[attr-defined]
    last = max(i for i, text in enumerate(encoding.sequence_ids) if text == 1)  # type: ignore[attr-defined]
    return types[: last + 1] + [types[last]] * (len(types) - last - 1)


@pytest.mark.parametrize("tokens", [24, 40, 64])
def test_windows_of_every_template_have_room_and_fit(tmp_path: Path, tokens: int) -> None:
    for path in (byte_level(tmp_path / "bytes"), metaspace(tmp_path / "meta", "<s>", "</s> </s>", "</s>")):
        inputs = ReaderInputs(path, tokens, overlap=4)
        question, title, passage = inputs.tokenize(["q" * 70, "t" * 30, " ".join("abcdefghij" * 9)]).values()
        windows = inputs.windows(question, title, passage)
        assert max(len(window.ids) for window in windows) == tokens
        assert windows[0].last - windows[0].first >= 0.4 * tokens - 4
        assert {t for w in windows for t in range(w.begin, w.begin + w.last - w.first)} == set(range(len(passage.ids)))


def test_a_model_trained_with_fewer_separators(tmp_path: Path) -> None:
    path = byte_level(tmp_path)
    separators = {}
    for number in (None, 1, 0):
        inputs = ReaderInputs(path, 64, separators=number)
        tokens = inputs.tokenize(["a", "b", "c"])
        (window,) = inputs.windows(tokens["a"], tokens["b"], tokens["c"])
        separators[number] = [" ".join(inputs.tokenizer.id_to_token(i) for i in window.ids)]
    assert separators == {
        None: ["<s> a </s> </s> b </s> </s> c </s>"],
        1: ["<s> a </s> b </s> c </s>"],
        0: ["<s> a b c </s>"],
    }


def test_offsets_leave_out_the_blank_before_a_word(tmp_path: Path) -> None:
    for path in (byte_level(tmp_path / "bytes"), metaspace(tmp_path / "meta", "<s>", "</s>", "</s>")):
        inputs = ReaderInputs(path, 64)
        text = "a  bc d."
        (tokens,) = inputs.tokenize([text]).values()
        ranges = dict.fromkeys((start, end) for start, end in tokens.offsets.tolist())  # some put "▁" before the text
        shown = [text[start:end] for start, end in ranges]
        assert not any(piece[:1].isspace() for piece in shown)
        assert "".join(shown) == "abcd."


def test_words_end_at_punctuation_whatever_the_tokenizer(tmp_path: Path) -> None:
    for path in (byte_level(tmp_path / "bytes"), metaspace(tmp_path / "meta", "<s>", "</s>", "</s>")):
        inputs = ReaderInputs(path, 64)
        text = "ab cd.e é中文"
        (tokens,) = inputs.tokenize([text]).values()
        words: dict[int, str] = {}
        last = 0
        for (start, end), number in zip(tokens.offsets.tolist(), tokens.words.tolist(), strict=True):
            words[number] = words.get(number, "") + text[max(start, last) : end]
            last = max(last, end)
        assert [word for word in words.values() if word] == ["ab", "cd", ".", "e", "é", "中", "文"]


def test_padding_is_hidden(tmp_path: Path) -> None:
    inputs = ReaderInputs(byte_level(tmp_path), 64)
    tokens = inputs.tokenize(["a", "bc", "b"])
    windows = [inputs.windows(tokens["a"], None, tokens[text])[0] for text in ("b", "bc")]
    ids, mask, types = padded_windows(windows)
    assert np.array_equal(mask, [[1, 1, 1, 1, 1, 1, 0], [1] * 7])
    assert not ids[0, 6]
    assert not types.any()


def test_a_candidate_is_appended_with_the_separators(tmp_path: Path) -> None:
    from oreqa.datasets.pairs import Candidate

    inputs = CrossEncoderInputs(byte_level(tmp_path), 64, "appended")
    (window,) = inputs.windows([("a", Candidate("c", "b c"))])
    assert [inputs.tokenizer.id_to_token(i) for i in window.ids] == [
        "<s>",
        "a",
        "</s>",
        "</s>",
        "c",
        "</s>",
        "</s>",
        "b",
        "Ġ",
        "c",
        "</s>",
    ]
