from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tiny_models import make_seq2seq  # noqa: E402
from transformers import LogitsProcessor, LogitsProcessorList  # noqa: E402

from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.models.generator.decoding import (  # noqa: E402
    BeamSearch,
    Decoding,
    Greedy,
    Nucleus,
    allowed_repeats,
    repeating_tokens,
)
from oreqa.models.generator.generator import QuestionGenerator  # noqa: E402
from oreqa.models.generator.inputs import MarkedAnswer  # noqa: E402
from oreqa.models.generator.seq2seq import Seq2SeqInputs  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402

TEXT = "the fox jumps over dog 3 and eats the bone"
ROWS = [
    MarkedAnswer("a title", TEXT, 0, 7),
    MarkedAnswer("", TEXT, 19, 24),
    MarkedAnswer("", "a cat's " * 20, 0, 60),
    MarkedAnswer("", "über 東京 ✓", 0, 4),
    MarkedAnswer("", "x", 0, 1),
]


@pytest.fixture(scope="module", params=["bart", "t5"])
def generator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> QuestionGenerator:
    folder = make_seq2seq(
        tmp_path_factory.mktemp("models") / request.param, request.param, max_tokens=60, question_tokens=12
    )
    return QuestionGenerator(folder)


def prefixes_of(generator: QuestionGenerator) -> list[list[int]]:
    return [prefix for prefix in generator.inputs.prefixes(ROWS, ["question"] * len(ROWS)) if prefix]


def model_of(generator: QuestionGenerator) -> Any:
    session: Any = generator.session
    return session.module


def starts_of(generator: QuestionGenerator) -> list[int]:
    return [2, 0] if generator.folder.config["model_type"] == "bart" else [1]


def test_the_input_is_the_answer_and_its_passage(generator: QuestionGenerator) -> None:
    assert isinstance(generator.inputs, Seq2SeqInputs)
    decode = generator.inputs.tokenizer.decode
    begins = generator.folder.config["model_type"] == "bart"
    for row, ids in zip(ROWS, prefixes_of(generator), strict=True):
        assert len(ids) <= 60
        assert (ids[0] == 0) is begins
        assert ids.count(2) == 2
        assert ids[-1] == 2
        middle = ids.index(2)
        if row.context.isascii() and len(row.context) < 50:
            assert decode(ids[begins:middle]).strip() == row.text
            assert decode(ids[middle + 1 : -1]).strip() == row.context
    assert len(prefixes_of(generator)[2]) == 60
    assert prefixes_of(generator)[2].index(2) == 15 + begins  # a fourth of the input


class AllowedRepeats(LogitsProcessor):
    """Our rule of repeated tokens, for the prefix."""

    def __init__(self, prefix: list[int], start: int) -> None:
        self._allowed, self._start = allowed_repeats(prefix), start

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[0, list(repeating_tokens(input_ids[0, self._start :].tolist(), self._allowed))] = -torch.inf
        return scores


def test_greedy_equals_transformers(generator: QuestionGenerator) -> None:
    model = model_of(generator)
    forbidden = generator.inputs.ending(generator.folder.path).forbidden.tolist()
    for ids, (question,) in zip(prefixes_of(generator), generator.generate(ROWS, "question"), strict=True):
        start = starts_of(generator)
        output = model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), decoder_input_ids=torch.tensor([start]), num_beams=1,
            do_sample=False, max_new_tokens=12, min_new_tokens=2, suppress_tokens=forbidden, forced_eos_token_id=2,
            forced_bos_token_id=None, logits_processor=LogitsProcessorList([AllowedRepeats(ids, len(start))]),
        )[0].tolist()  # fmt: skip
        first = len(start)
        text = generator.inputs.text([i for i in output[first:] if i != 2], ROWS[0])
        assert question.text == text


@pytest.mark.parametrize("decoding", [Greedy(), BeamSearch(3), Nucleus(0.9, 4)])
def test_scores_are_those_of_a_full_pass_and_the_batch_does_not_matter(
    generator: QuestionGenerator, decoding: Decoding
) -> None:
    together = generator.generate(ROWS, "question", decoding)
    for row, (question,) in zip(ROWS, together, strict=True):
        ((alone,),) = generator.generate([row], "question", decoding)
        assert alone.text == question.text
        assert alone.score == pytest.approx(question.score, abs=1e-4)
    model = model_of(generator)
    decoder = generator.session.decoder()
    prefixes = prefixes_of(generator)
    start = starts_of(generator)
    logits = decoder.start(prefixes)
    rows = [(prefix, list(start)) for prefix in prefixes]
    for chosen, tokens in (([3, 0, 0, 2], [9, 8, 7, 6]), ([2, 1], [5, 9])):
        logits = decoder.step(chosen, tokens)
        rows = [(rows[i][0], [*rows[i][1], token]) for i, token in zip(chosen, tokens, strict=True)]
    for (prefix, written), row_logits in zip(rows, logits, strict=True):
        with torch.no_grad():
            full = model(torch.tensor([prefix]), decoder_input_ids=torch.tensor([written])).logits[0, -1]
        assert row_logits == pytest.approx(full.numpy(), abs=1e-3)


def test_no_special_token_is_written(generator: QuestionGenerator) -> None:
    session: Any = generator.session
    logits = session.decoder().start(prefixes_of(generator))
    scores = generator.inputs.ending(generator.folder.path).log_probabilities(
        logits, [[9]] * len(ROWS), [allowed_repeats([])] * len(ROWS)
    )
    open_ids = {int(i) for i in torch.tensor(scores[0]).isfinite().nonzero()}
    vocabulary = generator.inputs.tokenizer.get_vocab()
    assert open_ids == set(vocabulary.values()) - {0, 1, 3, 9}  # the last was written before


def test_what_it_says_of_itself(generator: QuestionGenerator) -> None:
    assert generator.styles == ("question",)
    assert generator.reads_passages
    assert len(generator.fingerprint) == 64
    with pytest.raises(InputError, match="there is no style 'search': choose question"):
        generator.generate(ROWS, "search")


def test_wrong_folders(tmp_path: Path) -> None:
    folder = make_seq2seq(tmp_path / "bart", "bart")
    with pytest.raises(ModelError, match=r"it is a generator \(\w+\), not a reader; --generator takes it"):
        Reader(folder)
    config = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"oreqa": {"styles": ["a", "b"]}}, "its setting styles is"),
        ({"eos_token_id": None}, "its setting eos_token_id is None"),
        ({"d_model": 7}, "transformers cannot load it"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(ModelError, match=message):
            QuestionGenerator(folder)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="it is not a valid tokenizer"):
        QuestionGenerator(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        QuestionGenerator(folder)
