from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from oreqa.errors import InputError, ModelError
from oreqa.models.extractor.extractor import Extractor
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.weights import load_weights

PASSAGES = [
    ("Title", "The fox, it jumps over the dog. " * 6),
    ("", "é😀 Straße İ ﬁ fox"),
    ("t", "a"),
    ("t", ""),
]


def exact(extractor: Path) -> Extractor:
    """The extractor in float32, whatever the processor and the precision that the tests run in."""
    return Extractor(extractor, precision="f32")


def test_spans_slice_to_their_text_and_overlap_nowhere(tiny_extractor: Path) -> None:
    results = exact(tiny_extractor).extract(PASSAGES, k=50)
    assert [bool(spans) for spans in results] == [True, True, True, False]
    for number, ((_, text), spans) in enumerate(zip(PASSAGES, results, strict=True)):
        assert all(text[span.start : span.end] == span.text != "" for span in spans)
        assert {span.passage_number for span in spans} <= {number}
        assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)
        places = sorted((span.start, span.end) for span in spans)
        assert all(a[1] <= b[0] for a, b in pairwise(places))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(text=st.text(max_size=200), k=st.integers(1, 8))
def test_any_text_gives_spans_of_it(tiny_extractor: Path, text: str, k: int) -> None:
    (spans,) = exact(tiny_extractor).extract([text], k=k)
    assert len(spans) <= k
    places = sorted((span.start, span.end) for span in spans)
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert all(a[1] <= b[0] for a, b in pairwise(places))


def test_batches_change_nothing(tiny_extractor: Path) -> None:
    extractor = exact(tiny_extractor)
    passages = [("", f"fox {i} jumps over dog {'and sleeps ' * (i % 7)}") for i in range(300)]  # more than a chunk
    together = extractor.extract(passages, k=3)
    for number in (0, 34, 299):
        (alone,) = extractor.extract([passages[number]], k=3)
        assert [(s.start, s.end) for s in alone] == [(s.start, s.end) for s in together[number]]
        assert [s.score for s in alone] == pytest.approx([s.score for s in together[number]], abs=1e-4)
        assert {s.passage_number for s in together[number]} == {number}


def test_fewer_spans_are_the_first_of_more(tiny_extractor: Path) -> None:
    extractor = exact(tiny_extractor)
    assert extractor.extract(PASSAGES, k=2) == [spans[:2] for spans in extractor.extract(PASSAGES, k=9)]


def test_overlapping_spans_begin_with_the_same_and_none_comes_twice(tiny_extractor: Path) -> None:
    extractor = exact(tiny_extractor)
    for apart, spans in zip(
        extractor.extract(PASSAGES, k=9), extractor.extract(PASSAGES, k=90, overlapping=True), strict=True
    ):
        assert spans[:1] == apart[:1]
        assert len({(span.start, span.end) for span in spans}) == len(spans)
        assert {(span.start, span.end) for span in apart[:2]} <= {(span.start, span.end) for span in spans}
    assert len(extractor.extract("a b c", k=90, overlapping=True)[0]) == 6


def test_probabilities_of_single_words_add_up(tiny_extractor: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_extractor, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["oreqa"]["answer_tokens"] = 1
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    (spans,) = exact(tmp_path / "m").extract("a b c d", k=9)
    assert sorted(span.text for span in spans) == ["a", "b", "c", "d"]
    assert sum(np.exp(span.score) for span in spans) == pytest.approx(1, abs=1e-5)


@pytest.mark.train
def test_scores_equal_torch(tiny_extractor: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.extractor.module import open_session

    ours = exact(tiny_extractor)
    theirs = Extractor.of(ours.folder, open_session(ours.folder, "f32", "cpu"))
    for a, b in zip(ours.extract(PASSAGES, k=9), theirs.extract(PASSAGES, k=9), strict=True):
        assert [(s.start, s.end) for s in a] == [(s.start, s.end) for s in b]
        assert [s.score for s in a] == pytest.approx([s.score for s in b], abs=1e-3)


@pytest.mark.parametrize("precision", ["bf16", "i8"])
def test_other_precisions_are_near(tiny_extractor: Path, precision: str) -> None:
    if precision not in offered_precisions():
        pytest.skip(f"this processor does not compute in {precision}")
    best = exact(tiny_extractor).extract(PASSAGES, k=1)
    for a, b in zip(best, Extractor(tiny_extractor, precision=precision).extract(PASSAGES, k=1), strict=True):
        assert [s.score for s in a] == pytest.approx([s.score for s in b], abs=1.0)


def test_a_difference_extracts_as_the_whole(tiny_extractor: Path, tiny_reader: Path, tmp_path: Path) -> None:
    from oreqa.models.pack.packing import pack_model

    base = str(tiny_reader)
    pack_model(tiny_extractor, "extractor", base, tmp_path / "packed", "CC0")
    whole, packed, before = (load_weights(folder) for folder in (tiny_extractor, tmp_path / "packed", tiny_reader))
    for name, value in whole.items():
        moved = np.abs(value - before[name]).max() if name in before and before[name].shape == value.shape else 0.0
        assert np.allclose(packed[name], value, atol=moved / 14 + 1e-6)
    assert not (tmp_path / "packed" / "tokenizer.json").exists()
    assert [len(spans) for spans in exact(tmp_path / "packed").extract(PASSAGES, k=1)] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.pop("qa_end.bias"), "its weights lack qa_end.bias: they belong to another kind of model"),
        (lambda w: w.update({n: w[n][:9].copy() for n in ("qa_end.weight", "qa_end.bias")}), "have 65 and 9 outputs"),
    ],
)
def test_heads_that_do_not_fit_are_refused(tiny_extractor: Path, tmp_path: Path, change, reason: str) -> None:  # type: ignore[no-untyped-def]
    shutil.copytree(tiny_extractor, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    change(weights)
    save_file(weights, tmp_path / "m" / "model.safetensors")
    with pytest.raises(ModelError, match=reason):
        exact(tmp_path / "m")


@pytest.mark.parametrize("setting", [{"max_tokens": 0}, {"overlap": -1}, {"answer_tokens": 0}])
def test_damaged_settings_are_refused(tiny_extractor: Path, tmp_path: Path, setting: dict[str, int]) -> None:
    shutil.copytree(tiny_extractor, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["oreqa"] |= setting
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=f"m: its setting {next(iter(setting))} is"):
        Extractor(tmp_path / "m")


def test_numbers_that_are_none_are_refused(tiny_extractor: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_extractor, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    weights["qa_start.bias"][0] = np.nan
    save_file(weights, tmp_path / "m" / "model.safetensors")
    with pytest.raises(ModelError, match="m: the model gives NaN"):
        exact(tmp_path / "m").extract("fox")


def test_wrong_folders_and_arguments(tiny_extractor: Path, tiny_reader: Path) -> None:
    with pytest.raises(ModelError, match="it is a reader, not an extractor"):
        Extractor(tiny_reader)
    with pytest.raises(InputError, match="the number of spans is 0"):
        exact(tiny_extractor).extract("a", k=0)
    with pytest.raises(InputError, match=r"a passage is its text or its \(title, text\), not a list"):
        exact(tiny_extractor).extract([["a", "b"]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="passages are a list"):
        exact(tiny_extractor).extract(None)  # type: ignore[arg-type]
