from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.errors import InputError, ModelError
from oreqa.models.generator.decoding import BeamSearch, Decoding, Greedy, Nucleus
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import MarkedAnswer
from oreqa.models.graph.precision import offered_precisions
from oreqa.progress import part_of

CONTEXTS = (
    "the fox jumps over the dog",
    "it sleeps in house 3 and eats a bone with 2 dogs near the river at night",
    "a cat",
    "über naïve 東京 fish in the sea ✓ 12",
    "long " * 300 + "the end",
)
METHODS = (Greedy(), BeamSearch(3), Nucleus(0.9, 4))


def answers() -> list[MarkedAnswer]:
    """Answers at the beginning, in the middle and at the end of each context, under titles of several lengths."""
    rows = []
    for number, context in enumerate(CONTEXTS):
        middle = len(context) // 2
        for start, end in ((0, 3), (middle, middle + 4), (len(context) - 3, len(context)), (0, len(context))):
            rows.append(MarkedAnswer("fox tale " * number, context, start, min(end, len(context))))
    return rows


@pytest.fixture(scope="module")
def generator(tiny_generator: Path) -> QuestionGenerator:
    return QuestionGenerator(tiny_generator, precision="f32")


def torch_generator(generator: QuestionGenerator) -> QuestionGenerator:
    from oreqa.models.generator.module import open_session

    return QuestionGenerator.of(generator.folder, open_session(generator.folder, "f32", "cpu"))


def prefixes_of(generator: QuestionGenerator, rows: list[MarkedAnswer]) -> list[list[int]]:
    prefixes = generator.inputs.prefixes(rows, ["search"] * len(rows))
    return [prefix for prefix in prefixes if prefix]


def with_settings(folder: Path, out: Path, **settings: object) -> Path:
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text())
    config["oreqa"] |= settings
    (out / "config.json").write_text(json.dumps(config))
    return out


@pytest.mark.parametrize("device", ["openvino", "torch"])
def test_steps_with_the_cache_equal_one_pass_over_everything(generator: QuestionGenerator, device: str) -> None:
    torch = pytest.importorskip("torch")
    from oreqa.models.generator.module import BertGenerator
    from oreqa.models.graph.torch import load_module
    from oreqa.models.weights import load_weights

    module = load_module(BertGenerator, generator.folder, load_weights(generator.folder.path), "cpu", None)
    session: Any = (generator if device == "openvino" else torch_generator(generator)).session
    prefixes = prefixes_of(generator, answers())
    rng = np.random.default_rng(0)
    decoder = session.decoder()
    for _ in range(2):  # a decoder forgets the batch before
        logits = decoder.start(prefixes)
        rows = [(prefix, [*prefix]) for prefix in prefixes]
        for step in range(6):
            for (prefix, ids), row_logits in zip(rows, logits, strict=True):
                row, question = torch.tensor([ids]), len(ids) - len(prefix)
                types = torch.tensor([[0] * len(prefix) + [1] * question])
                predicts = torch.arange(len(ids))[None] == len(ids) - 1
                with torch.no_grad():
                    full = module(row, torch.tensor([len(prefix)]), torch.tensor([len(ids)]), types, predicts)
                assert np.abs(full[0].numpy() - row_logits).max() < 1e-4
            # Rows leave, come twice and change places, as those of beams do.
            chosen = rng.integers(0, len(rows), (2 * len(prefixes), 11, 7, 16, 2, 5)[step])
            tokens = rng.integers(4, 70, len(chosen))
            logits = decoder.step(chosen.tolist(), tokens.tolist())
            rows = [(rows[i][0], [*rows[i][1], int(token)]) for i, token in zip(chosen, tokens, strict=True)]


@pytest.mark.parametrize("decoding", METHODS)
def test_torch_generates_the_same(generator: QuestionGenerator, decoding: Decoding) -> None:
    pytest.importorskip("torch")
    rows = answers()
    ours, theirs = (g.generate(rows, "textbook", decoding) for g in (generator, torch_generator(generator)))
    for mine, other in zip(ours, theirs, strict=True):
        assert [question.text for question in mine] == [question.text for question in other]
        assert [question.score for question in mine] == pytest.approx([question.score for question in other], abs=1e-4)


@pytest.mark.parametrize("decoding", METHODS)
def test_the_batch_does_not_matter(generator: QuestionGenerator, decoding: Decoding) -> None:
    rows = answers()
    styles = ["search" if number % 3 else "textbook" for number in range(len(rows))]
    done: list[int] = []
    count = 1 if isinstance(decoding, Greedy) else 3
    together = generator.generate(rows, styles, decoding, k=count, progress=part_of(done.append))
    assert sum(done) == len(rows)
    for number in range(0, len(rows), 3):
        (alone,) = generator.generate([rows[number]], styles[number], decoding, k=count)
        assert [question.text for question in alone] == [question.text for question in together[number]]
        assert [q.score for q in alone] == pytest.approx([q.score for q in together[number]], abs=1e-4)
        assert {question.style for question in alone} == {styles[number]}
    backwards = generator.generate(rows[::-1], styles[::-1], decoding, k=count)[::-1]
    assert [[q.text for q in row] for row in backwards] == [[q.text for q in row] for row in together]


def test_answers_are_taken_in_chunks(generator: QuestionGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answers()
    blank = MarkedAnswer("", "a   fox", 2, 3)
    together = generator.generate([*rows, blank], "search")
    monkeypatch.setattr("oreqa.models.generator.generator._CHUNK", 3)
    done: list[int] = []
    in_chunks = generator.generate([*rows, blank], "search", progress=part_of(done.append))
    assert [[q.text for q in row] for row in in_chunks] == [[q.text for q in row] for row in together]
    assert sum(done) == len(rows) + 1


def test_questions_are_written_as_their_context_writes_them(generator: QuestionGenerator) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    ((plain,), (capital,)) = generator.generate(
        [MarkedAnswer("", f"go: {' '.join(written)}", 0, 2) for written in (letters, letters.upper())], "search"
    )
    assert plain.text.lower() == capital.text.lower()
    single = [word for word in capital.text.split() if len(word) == 1 and word.isalpha()]
    assert single
    assert all(letter.isupper() for letter in single)
    assert not any(letter.isupper() for letter in plain.text[1:])


def test_seeds_and_styles_change_questions(generator: QuestionGenerator) -> None:
    rows = answers()[:8]

    def texts(decoding: Decoding, style: str = "textbook", k: int = 1) -> list[list[str]]:
        return [[q.text for q in row] for row in generator.generate(rows, style, decoding, k=k)]

    assert texts(Nucleus(seed=1)) == texts(Nucleus(seed=1))
    assert texts(Nucleus(seed=1)) != texts(Nucleus(seed=2))
    assert texts(Greedy()) != texts(Greedy(), "search")
    several = texts(Nucleus(seed=1), k=4)
    assert all(first in more for (first,), more in zip(texts(Nucleus(seed=1)), several, strict=True))
    assert all(len(set(row)) == len(row) for row in several)


def test_questions_come_best_first(generator: QuestionGenerator) -> None:
    rows = answers()[:8]
    for decoding in (BeamSearch(4), Nucleus(seed=1)):
        for row in generator.generate(rows, "search", decoding, k=4):
            scores = [question.score for question in row]
            assert scores == sorted(scores, reverse=True)
    beams, greedy = (generator.generate(rows, "search", decoding) for decoding in (BeamSearch(4), Greedy()))
    assert sum(best.score for (best,) in beams) > sum(best.score for (best,) in greedy)


def test_no_answer_one_answer_and_an_answer_without_a_token(generator: QuestionGenerator) -> None:
    assert generator.generate([], "search") == []
    assert generator.generate([], []) == []
    answer = MarkedAnswer("", "a   fox", 0, 1)
    blank = MarkedAnswer("", "a   fox", 2, 3)
    done: list[int] = []
    assert generator.generate([blank, answer], "search", progress=part_of(done.append))[0] == []
    assert sum(done) == 2
    ((question,),) = generator.generate(answer, "search")
    assert question.text
    assert question.score < 0


@pytest.mark.parametrize("precision", sorted({"bf16", "i8"} & set(offered_precisions())))
def test_lower_precision_is_close(generator: QuestionGenerator, tiny_generator: Path, precision: str) -> None:
    prefixes = prefixes_of(generator, answers())
    exact, lower = (
        generator.session.decoder(),
        QuestionGenerator(tiny_generator, precision=precision).session.decoder(),
    )
    tokens = list(range(10, 10 + len(prefixes)))
    for calculate in (lambda d: d.start(prefixes).copy(), lambda d: d.step(list(range(len(prefixes))), tokens).copy()):
        ours, close = calculate(exact), calculate(lower)
        assert np.abs(ours - close).max() < 0.1 * ours.std() * 4
        assert np.corrcoef(ours.ravel(), close.ravel())[0, 1] > 0.995


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["fox"], "search"), "an answer to ask about is a MarkedAnswer, not a str"),
        ((None, "search"), "answers are a list of MarkedAnswer, not None"),
        (([MarkedAnswer("", "fox", 2, 2)], "search"), "an answer lies in its context: 2:2 is no part of 3 characters"),
        (([MarkedAnswer("", "fox", 0, 4)], "search"), "an answer lies in its context: 0:4 is no part of 3 characters"),
        ((answers(), "novel"), "there is no style 'novel': choose textbook, search"),
        ((answers(), ["search"]), "a list of styles has one for each answer: 1 styles, 20 answers"),
        ((answers(), None), "a style is a string, or a list of one for each answer, not None"),
        ((answers(), "search", BeamSearch(0)), "beams is 0"),
        ((answers(), "search", BeamSearch(2, "long")), "length_penalty is 'long'; it must be a number"),  # type: ignore[arg-type]
        ((answers(), "search", Nucleus(0.0)), "top_p is 0.0; it must be a probability above 0"),
        ((answers(), "search", Nucleus(1.1)), "top_p is 1.1"),
        ((answers(), "search", Nucleus(0.9, -1)), "seed is -1"),
        ((answers(), "search", "beam"), "decoding is Greedy"),
    ],
)
def test_wrong_arguments(generator: QuestionGenerator, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generator.generate(*arguments)


@pytest.mark.parametrize(("decoding", "k", "message"), [
    (Greedy(), 2, "greedy decoding gives one question an answer"),
    (BeamSearch(2), 3, "2 beams give 2 questions an answer, not 3"),
    (Greedy(), 0, "k is 0"),
])  # fmt: skip
def test_numbers_of_questions_that_a_decoding_does_not_give(
    generator: QuestionGenerator, decoding: Decoding, k: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        generator.generate(answers(), "search", decoding, k=k)


def test_wrong_folders(tiny_generator: Path, tiny_reader: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it is a reader, not a generator"):
        QuestionGenerator(tiny_reader)
    with pytest.raises(ModelError, match="its setting styles is"):
        QuestionGenerator(with_settings(tiny_generator, tmp_path / "styles", styles=[]))
    with pytest.raises(ModelError, match=r"has no \[unused4\]"):
        QuestionGenerator(with_settings(tiny_generator, tmp_path / "many", styles=["a", "b", "c"]))
    with pytest.raises(ModelError, match="its setting untitled is"):
        QuestionGenerator(with_settings(tiny_generator, tmp_path / "untitled", untitled=["poem"]))
    folder = with_settings(tiny_generator, tmp_path / "headless")
    weights = load_file(folder / "model.safetensors")
    bias = weights.pop("cls.predictions.bias")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"headless: its weights lack cls\.predictions\.bias"):
        QuestionGenerator(folder)
    save_file({**weights, "cls.predictions.bias": bias[1:]}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="headless: its language model head does not fit"):
        QuestionGenerator(folder)
    save_file({**weights, "cls.predictions.bias": bias * np.nan}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="headless: the model gives NaN or infinite numbers"):
        QuestionGenerator(folder).generate(answers(), "search")
