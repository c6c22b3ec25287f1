from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.errors import InputError, ModelError
from oreqa.models.reader.inputs import read_reader_folder
from oreqa.models.reader.reader import Reader
from oreqa.models.reader.spans import best_spans
from oreqa.models.weights import load_weights

PASSAGES = [
    ("Title", "The fox, it jumps over the dog. " * 4),
    ("", "é😀 Straße İ ﬁ fox"),
    ("t", "a"),
    ("t", ""),
]


def exact(reader: Path) -> Reader:
    """The reader in float32, whatever the processor and the precision that the tests run in."""
    return Reader(reader, precision="f32")


def test_every_span_slices_to_its_text(tiny_reader: Path) -> None:
    (spans,) = exact(tiny_reader).read(["what fox"], [PASSAGES], k=50)
    assert {span.passage_number for span in spans} == {0, 1, 2}
    for span in spans:
        assert PASSAGES[span.passage_number][1][span.start : span.end] == span.text != ""
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)


def test_no_span_runs_into_the_next_paragraph(tiny_reader: Path) -> None:
    text = "The fox jumps.\n\nThe dog sleeps.\n \nIt snores."
    spans = Reader(tiny_reader).read("who sleeps", [text], k=1000)
    assert {part for span in spans for part in ("fox", "dog", "snores") if part in span.text} == {"fox", "dog", "snores"}
    assert not any("\n" in span.text for span in spans)


def test_no_span_runs_into_the_next_sentence(tiny_reader: Path) -> None:
    text = "The fox jumps over 4.5 dogs. The dog sleeps! It snores."
    spans = Reader(tiny_reader).read("who sleeps", [text], k=1000)
    assert {part for span in spans for part in ("fox", "dog", "snores") if part in span.text} == {"fox", "dog", "snores"}
    assert not any(". T" in span.text or "! I" in span.text for span in spans)


def test_no_span_runs_into_the_next_line_of_a_list(tiny_reader: Path) -> None:
    text = "Fox Street 4\nMon 9\nTue 8\n\n- the dog\n- the house"
    spans = Reader(tiny_reader).read("fox", [text], k=1000)
    assert {part for span in spans for part in ("4", "Mon", "dog", "house") if part in span.text} == {
        "4",
        "Mon",
        "dog",
        "house",
    }
    assert not any("\n" in span.text for span in spans)


def test_no_answer_is_looked_for_in_what_is_excluded(tiny_reader: Path) -> None:
    text = "- a fox runs\n- bees dance\n- they sting"
    begin, end = text.index("- bees"), text.index("- they")
    reader = Reader(tiny_reader)
    inputs = ["who dances"], [[("", text)]], 50
    (reading,) = reader.readings(*inputs, excluded=[[[(begin, end)]]])
    spans = reading.spans
    assert spans
    assert not any(span.start < end and begin < span.end for span in spans)
    everywhere = reader.readings(*inputs)[0].spans
    assert any(begin <= span.start < end for span in everywhere)
    before = {(span.start, span.end): span.score for span in everywhere}
    compared = [(span.score, before[span.start, span.end]) for span in spans if (span.start, span.end) in before]
    assert compared
    assert all(after > score for after, score in compared)  # the probabilities are those among the other lines
    assert reader.readings(*inputs, excluded=[[[(0, len(text))]]])[0].spans == []


def test_batches_change_nothing(tiny_reader: Path) -> None:
    reader = exact(tiny_reader)
    questions = [f"q{i} fox" for i in range(70)]  # more than a chunk
    together = reader.read(questions, [PASSAGES[: 1 + i % 3] for i in range(70)], k=3)
    for number in (0, 34, 69):
        (alone,) = reader.read([questions[number]], [PASSAGES[: 1 + number % 3]], k=3)
        assert [(s.passage_number, s.start, s.end) for s in alone] == [
            (s.passage_number, s.start, s.end) for s in together[number]
        ]
        assert [s.score for s in alone] == pytest.approx([s.score for s in together[number]], abs=1e-4)


def test_nothing_to_read(tiny_reader: Path) -> None:
    reader = exact(tiny_reader)
    assert reader.read([], []) == []
    assert reader.read(["x", "y"], [[], [("", "")]]) == [[], []]
    assert reader.read("x", []) == []


def test_one_question_and_texts_without_titles(tiny_reader: Path) -> None:
    reader = exact(tiny_reader)
    texts = [text for _, text in PASSAGES]
    expected = reader.read(["what fox"], [[("", text) for text in texts]])
    assert reader.read("what fox", texts) == expected[0]
    assert reader.read("what fox", tuple(texts)) == reader.read(["what fox"], [texts])[0] == expected[0]
    assert reader.read("what fox", texts[0]) == reader.read("what fox", [texts[0]]) != []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], [["x"]]), "a list of questions takes a list of passages for each: 2 questions, 1 lists"),
        (("a", [["x", "y"]]), r"a passage is its text or its \(title, text\), not a list"),
        (("a", [("x", 1)]), "a passage is its text"),
        (("a", None), "a question's passages are a list of texts"),
        ((["a"], 7), "passages are a list, or a list for each question, not an int"),
        (([1], [["x"]]), "questions are a string or a list of strings: number 1 is an int"),
    ],
)
def test_wrong_arguments(tiny_reader: Path, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact(tiny_reader).read(*arguments)  # type: ignore[call-overload]


def test_a_number_of_spans_below_one_is_refused(tiny_reader: Path) -> None:
    with pytest.raises(InputError, match="the number of spans is 0; it must be a whole number from 1"):
        exact(tiny_reader).read("a", ["x"], k=0)


@pytest.mark.train
def test_logits_equal_torch(tiny_reader: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.reader.module import open_session

    ours = exact(tiny_reader)
    (spans,) = ours.read(["what fox"], [PASSAGES], k=4)
    (theirs,) = Reader.of(ours.folder, open_session(ours.folder, "f32", "cpu")).read(["what fox"], [PASSAGES], k=4)
    assert [(s.passage_number, s.start, s.end) for s in spans] == [(s.passage_number, s.start, s.end) for s in theirs]
    assert [s.score for s in spans] == pytest.approx([s.score for s in theirs], abs=1e-3)
    assert [s.scores["passage_logit"] for s in spans] == pytest.approx([s.scores["passage_logit"] for s in theirs], abs=1e-3)


@pytest.mark.train
def test_our_folder_loads_as_transformers_question_answering(tiny_reader: Path) -> None:
    pytest.importorskip("torch")
    from transformers import BertForQuestionAnswering

    model = BertForQuestionAnswering.from_pretrained(tiny_reader).eval()
    reader = exact(tiny_reader)
    question, passage = reader.inputs.tokenize(["fox", "the dog"]).values()
    (window,) = reader.inputs.windows(question, None, passage)
    import torch

    ids = torch.tensor([window.ids])
    types = torch.tensor([[int(i >= window.segment) for i in range(len(window.ids))]])
    with torch.no_grad():
        out = model(ids, token_type_ids=types)
    (spans,) = reader.read(["fox"], [[("", "the dog")]], k=1)
    from oreqa.models.reader.spans import WindowLogits

    part = slice(window.first, window.last)
    ends = out.start_logits[0, part].numpy(), out.end_logits[0, part].numpy()
    best = best_spans(
        [WindowLogits(0, 0, *ends, 0.0, *passage.edges(0, len(passage.ids)), np.zeros(len(passage.ids), int))], 1, True
    )
    assert best[0].span == pytest.approx(spans[0].score, abs=1e-3)


@pytest.mark.parametrize("layout", ["hub", "dpr in transformers", "dpr"])
def test_other_layouts_read_the_same(tiny_reader: Path, tmp_path: Path, layout: str) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    weights = load_file(tiny_reader / "model.safetensors")
    config = json.loads((tiny_reader / "config.json").read_text())
    del config["oreqa"]
    if layout == "hub":
        config["architectures"] = ["BertForQuestionAnswering"]
        weights = {name: value for name, value in weights.items() if not name.startswith("qa_classifier")}
    else:
        config["architectures"] = ["DPRReader"]
        inner = "span_predictor.encoder.bert_model." if "transformers" in layout else "encoder."
        outer = "span_predictor." if "transformers" in layout else ""
        weights = {
            inner + name.removeprefix("bert.") if name.startswith("bert.") else outer + name: value
            for name, value in weights.items()
        }
    save_file(weights, tmp_path / "m" / "model.safetensors")
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    folder = read_reader_folder(tmp_path / "m")
    assert (folder.titles, folder.closing) == ((False, True) if layout == "hub" else (True, False))
    found, wanted = load_weights(folder.path), load_weights(tiny_reader)
    assert all(np.array_equal(found[name], wanted[name]) for name in found if name.startswith(("bert.", "qa_")))
    (spans,) = exact(tmp_path / "m").read(["what fox"], [PASSAGES], k=2)
    assert all(PASSAGES[s.passage_number][1][s.start : s.end] == s.text for s in spans)
    assert "qa_classifier.weight" in found or layout == "hub"


def test_a_difference_reads_as_the_whole(tiny_reader: Path, tiny: Path, tmp_path: Path) -> None:
    from oreqa.models.differences import pack_difference

    whole = load_weights(tiny_reader)
    base = {f"bert.{name}": value for name, value in load_file(tiny / "model.safetensors").items()}
    shutil.copytree(tiny_reader, tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    (tmp_path / "m" / "tokenizer.json").unlink()
    save_file(pack_difference(whole, base), tmp_path / "m" / "difference.safetensors")
    config = json.loads((tiny_reader / "config.json").read_text())
    config["oreqa"] |= {"difference_from": str(tiny), "base": str(tiny)}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    packed = load_weights(tmp_path / "m")
    assert all(np.allclose(packed[name], value, atol=0.02) for name, value in whole.items())
    assert len(exact(tmp_path / "m").read(["fox"], [PASSAGES], k=1)[0]) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.pop("qa_outputs.weight"), "its weights lack qa_outputs.weight: they belong to another kind of model"),
        (
            lambda w: w.update({"qa_outputs.weight": w["qa_outputs.weight"][:, :8].copy()}),
            "does not fit a model of hidden_size 32",
        ),
        (lambda w: w.update({n: w[n][:1].copy() for n in ("qa_outputs.weight", "qa_outputs.bias")}), "a reader needs two"),
    ],
)
def test_heads_that_do_not_fit_are_refused(
    tiny_reader: Path, tmp_path: Path, change: Callable[[dict[str, np.ndarray]], object], reason: str
) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    change(weights)
    save_file(weights, tmp_path / "m" / "model.safetensors")
    with pytest.raises(ModelError, match=reason):
        Reader(tmp_path / "m")


@pytest.mark.parametrize("setting", [{"max_tokens": 0}, {"max_tokens": "x"}, {"overlap": -1}, {"answer_tokens": 1.5}])
def test_damaged_settings_are_refused(tiny_reader: Path, tmp_path: Path, setting: dict[str, object]) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["oreqa"] |= setting
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=f"m: its setting {next(iter(setting))} is"):
        Reader(tmp_path / "m")


def test_numbers_that_are_none_are_refused(tiny_reader: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_reader, tmp_path / "reader")
    weights = load_file(broken / "model.safetensors")
    weights["qa_classifier.bias"][0] = np.nan
    save_file(weights, broken / "model.safetensors")
    with pytest.raises(ModelError, match="reader: the model gives NaN"):
        Reader(broken).read(["fox"], [PASSAGES])


def test_wrong_folders(tiny: Path, tiny_reader: Path, tiny_reranker: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a reader"):
        Reader(tiny)
    with pytest.raises(ModelError, match="it is a reranker, not a reader"):
        Reader(tiny_reranker)
    with pytest.raises(ModelError, match="there is no model 'nowhere'"):
        Reader("nowhere")
    with pytest.raises(InputError, match="choose cpu or cuda"):
        Reader(tiny_reader, device="tpu")
    shutil.copytree(tiny_reader, tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").rename(tmp_path / "m" / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"its weights are pickled \(pytorch_model.bin\)"):
        Reader(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        Reader(tmp_path / "m")
