"""Readers of others, made by transformers itself: the same logits, and spans that leave out its null answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.train

import torch  # noqa: E402
from architectures import CONFIGS, make_transformer  # noqa: E402
from templates import byte_level  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

from oreqa.errors import ModelError  # noqa: E402
from oreqa.models.graph.windows import Window, window_batches  # noqa: E402
from oreqa.models.names import read_config  # noqa: E402
from oreqa.models.reader.inputs import read_reader_folder  # noqa: E402
from oreqa.models.reader.module import open_session  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402

QUESTION, PASSAGE = "who jumps over", "the quick brown fox jumps. over the lazy dog 12 it goes " * 3
MAX_TOKENS, OVERLAP = 48, 16


def make_reader(folder: Path, model_type: str, **settings: object) -> torch.nn.Module:
    """A random reader of transformers, with windows shorter than the default."""
    model = make_transformer(folder, model_type, "QuestionAnswering", **settings)
    config = read_config(folder) | {"oreqa": {"max_tokens": MAX_TOKENS, "overlap": OVERLAP}}
    (folder / "config.json").write_text(json.dumps(config))
    return model


def their_logits(model: torch.nn.Module, folder: Path) -> tuple[list[list[int]], np.ndarray]:
    """The windows that transformers' tokenizer makes, and their start and end logits ``[2, windows, tokens]``."""
    pad = "<pad>" if model.config.pad_token_id == 1 else "[PAD]"
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token=pad)
    inputs = tokenizer(
        QUESTION, PASSAGE, truncation="only_second", max_length=MAX_TOKENS, stride=OVERLAP, padding=True,
        return_overflowing_tokens=True, return_tensors="pt", return_token_type_ids=True,
    )  # fmt: skip
    inputs.pop("overflow_to_sample_mapping")
    ids = [row[mask == 1].tolist() for row, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)]
    if getattr(model.config, "type_vocab_size", 0) < 2:
        inputs.pop("token_type_ids")
    with torch.no_grad():
        out = model(**inputs)
    return ids, np.stack([out.start_logits.numpy(), out.end_logits.numpy()])


def windows_of(reader: Reader) -> list[Window]:
    question, passage = reader.inputs.tokenize([QUESTION, PASSAGE]).values()
    return reader.inputs.windows(question, None, passage)


def logits_of(reader: Reader, windows: list[Window]) -> list[list[np.ndarray]]:
    rows: list[list[np.ndarray]] = [[] for _ in windows]
    for batch, outputs in reader.session.run(window_batches(windows)):
        for row, number in enumerate(batch.numbers):
            rows[number] = [output[row].copy() for output in outputs]
    return rows


@pytest.mark.parametrize("model_type", CONFIGS)
def test_logits_are_those_of_transformers(model_type: str, tmp_path: Path) -> None:
    model = make_reader(tmp_path, model_type)
    reader = Reader(tmp_path, precision="f32")
    windows = windows_of(reader)
    ids, expected = their_logits(model, tmp_path)
    assert [window.ids for window in windows] == ids
    assert len(ids) > 2
    on_torch = Reader.of(reader.folder, open_session(reader.folder, "f32", "cpu"))
    for session in (reader, on_torch):
        for number, outputs in enumerate(logits_of(session, windows)):
            assert len(outputs) == 2  # no selection head
            size = len(ids[number])
            for ours, theirs in zip(outputs, expected[:, number], strict=True):
                assert np.allclose(ours[:size], theirs[:size], atol=1e-4)
    assert reader.read(QUESTION, [PASSAGE], k=3)[0].text == on_torch.read(QUESTION, [PASSAGE], k=3)[0].text


@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_the_score_against_no_answer(model_type: str, tmp_path: Path) -> None:
    model = make_reader(tmp_path, model_type)
    reader = Reader(tmp_path, precision="f32")
    text = "the fox"
    spans = reader.read("who", [text, ""], k=100)
    assert {span.passage_number for span in spans} == {0}
    tokenizer = reader.inputs.tokenizer
    pair = tokenizer.encode("who", text)
    segments = {"token_type_ids": torch.tensor([pair.type_ids])} if model_type == "bert" else {}
    with torch.no_grad():
        out = model(torch.tensor([pair.ids]), **segments)
    start, end = out.start_logits[0].numpy(), out.end_logits[0].numpy()
    places = [i for i, number in enumerate(pair.sequence_ids) if number == 1]
    for span in spans:
        first, last = (
            next(i for i in places if pair.offsets[i][side] == place) for side, place in enumerate((span.start, span.end))
        )
        difference = start[first] + end[last] - start[0] - end[0]  # as in the metric of SQuAD 2.0, the sign turned
        assert span.scores["span"] + span.scores["passage_logit"] == pytest.approx(float(difference), abs=1e-3)


def test_an_encoder_is_no_reader(tmp_path: Path) -> None:
    make_transformer(tmp_path, "roberta")
    with pytest.raises(ModelError, match=r"it is an encoder without a head \(RobertaModel\), not a reader"):
        read_reader_folder(tmp_path)


def test_a_reader_of_words_that_hold_their_blank(tmp_path: Path) -> None:
    """RoBERTa's tokens begin with the blank before them; spans do not."""
    make_transformer(tmp_path, "roberta", "QuestionAnswering", vocab_size=300)
    byte_level(tmp_path)
    text = "it has three hearts. and no  bones"
    spans = Reader(tmp_path, precision="f32").read("how many", [text], k=200)
    texts = {span.text for span in spans}
    assert {"three", "hearts", "three hearts", "bones", "no  bones"} <= texts
    assert all(span.text == span.text.strip() == text[span.start : span.end] for span in spans)
    assert not any(span.text == "thr" or span.text.startswith("earts") for span in spans)
