from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_task  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair, load_pairs, pair_row  # noqa: E402
from oreqa.datasets.paragraphs import (  # noqa: E402
    Gold,
    Paragraph,
    Question,
    is_held_out,
    save_squad,
)
from oreqa.errors import InputError  # noqa: E402
from oreqa.files import write_jsonl  # noqa: E402
from oreqa.index.passages import index_passages  # noqa: E402
from oreqa.index.store import Settings  # noqa: E402
from oreqa.losses.reranking import weighted_cross_entropy  # noqa: E402
from oreqa.mining.negatives import draw_negatives  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs  # noqa: E402
from oreqa.models.pack.packing import pack_model  # noqa: E402
from oreqa.training.cross_encoder.examples import (  # noqa: E402
    LabelledWindow,
    collate_candidates,
    negative_lists,
    pair_lists,
    plausible_candidates,
)
from oreqa.training.cross_encoder.recipe import ClassifierRecipe  # noqa: E402
from oreqa.training.cross_encoder.train import train_classifier  # noqa: E402


@pytest.fixture
def pairs_file(squad_file: Path, tiny: Path, tmp_path: Path) -> Path:
    task = load_task(squad_file)
    index = index_passages(tmp_path / "index", task.passages, Settings(model=str(tiny)))
    write_jsonl(tmp_path / "pairs.jsonl", map(pair_row, draw_negatives(task, index)))
    return tmp_path / "pairs.jsonl"


def recipe_of(pairs: Path, backbone: Path, **changes: object) -> ClassifierRecipe:
    settings = {
        "kind": "classifier", "backbone": str(backbone), "data": [str(pairs)], "max_tokens": 64, "dropout": 0.0,
        "optimiser": {"learning_rate": 3e-3, "batch": 12, "checkpoint_steps": 4}, **changes,
    }  # fmt: skip
    return ClassifierRecipe.model_validate(settings)


@pytest.mark.numeric
@pytest.mark.parametrize("marking", ["alone", "marked"])
def test_a_classifier_learns_and_loads_everywhere(pairs_file: Path, tiny_reader: Path, tmp_path: Path, marking: str) -> None:
    import sentence_transformers

    recipe = recipe_of(pairs_file, tiny_reader, marking=marking, epochs=12)
    record = train_classifier(recipe, tmp_path / "m")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    pairs = list(load_pairs(pairs_file))
    classifier = CrossEncoder(tmp_path / "m", precision="f32")
    assert classifier.folder.marking == marking
    logits = classifier.score([p.question for p in pairs], [[p.positive, *p.negatives] for p in pairs])
    assert np.mean([row[0] > row[1:].mean() for row in logits]) > 0.7
    if marking == "alone":
        theirs = sentence_transformers.CrossEncoder(str(tmp_path / "m"), device="cpu")
        inputs = [(p.question, p.positive.answer) for p in pairs[:8]]
        assert np.allclose([1 / (1 + np.exp(-row[0])) for row in logits[:8]], theirs.predict(inputs), atol=0.02)


@pytest.mark.numeric
def test_a_classifier_learns_from_the_candidates_of_a_question_together(
    pairs_file: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    optimiser = {"learning_rate": 3e-3, "batch": 3, "checkpoint_steps": 4}
    recipe = recipe_of(pairs_file, tiny_reader, loss="listwise_softmax", epochs=12, optimiser=optimiser)
    record = train_classifier(recipe, tmp_path / "m")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    assert record["steps"] == -(-12 * record["pairs"] // 3)  # a batch is three questions
    pairs = list(load_pairs(pairs_file))
    logits = CrossEncoder(tmp_path / "m", precision="f32").score(
        [p.question for p in pairs], [[p.positive, *p.negatives] for p in pairs]
    )
    assert np.mean([row[0] > row[1:].mean() for row in logits]) > 0.7


def test_frozen_layers_are_the_backbones_and_the_pack_holds_the_rest(
    pairs_file: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file

    train_classifier(recipe_of(pairs_file, tiny_reader, frozen_layers=1, marking="marked"), tmp_path / "m")
    before, after = (load_file(folder / "model.safetensors") for folder in (tiny_reader, tmp_path / "m"))
    for name, value in before.items():
        if name.startswith(("bert.embeddings", "bert.encoder.layer.0.")):
            assert (after[name] == value).all()
    assert any((after[n] != v).any() for n, v in before.items() if n.startswith("bert.encoder.layer.1."))
    pack_model(tmp_path / "m", "classifier", str(tiny_reader), tmp_path / "packed", "MIT")
    pairs = list(load_pairs(pairs_file))[:9]
    inputs = [p.question for p in pairs], [[p.positive, *p.negatives] for p in pairs]
    whole, packed = (CrossEncoder(tmp_path / name).score(*inputs) for name in ("m", "packed"))
    assert all(np.allclose(a, b, atol=0.1) for a, b in zip(whole, packed, strict=True))
    kept = json.loads((tmp_path / "packed" / "config.json").read_text())["oreqa"]
    assert (kept["kind"], kept["marking"], kept["difference_from"]) == ("classifier", "marked", str(tiny_reader))


def test_a_pair_counts_as_much_as_its_weight(tiny: Path) -> None:
    inputs = CrossEncoderInputs(tiny / "tokenizer.json", 32, "alone")
    pairs = [Pair("who", Candidate("a fox", "a fox"), 0.25, negatives=(Candidate("a dog", "a dog"),))]
    (candidates,) = pair_lists(pairs, inputs)
    examples = [[candidate] for candidate in candidates]
    assert [[(candidate.label, candidate.weight) for candidate in row] for row in examples] == [[(1.0, 0.25)], [(0.0, 1.0)]]
    batch = collate_candidates(examples)
    assert (batch["labels"].tolist(), batch["weights"].tolist()) == ([[1.0], [0.0]], [[0.25], [1.0]])
    logits = torch.tensor([-0.3, 0.4])
    slow = (-0.25 * np.log(1 / (1 + np.exp(0.3))) - np.log(1 - 1 / (1 + np.exp(-0.4)))) / 2
    assert float(weighted_cross_entropy(logits, batch["labels"][:, 0], batch["weights"][:, 0])) == pytest.approx(slow)


@pytest.mark.parametrize("loss", ["cross_entropy", "listwise_softmax"])
def test_batches_of_every_epoch_are_of_similar_length_and_in_another_order(
    tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    texts = ["x" * (1 + number) for number in range(40)]  # as many tokens; 41 candidates are three batches and a rest
    pairs = [Pair("who", Candidate(text, text)) for text in texts[1:]]
    pairs.append(Pair("who", Candidate("y", "y"), negatives=(Candidate(texts[0], texts[0]),)))
    write_jsonl(tmp_path / "pairs.jsonl", map(pair_row, pairs))
    examples: list[list[LabelledWindow]] = []

    def keep(model: object, rows: list[list[LabelledWindow]], *_: object, out: Path, **__: object) -> dict[str, object]:
        out.mkdir()
        examples.extend(rows)
        return {}

    monkeypatch.setattr("oreqa.training.cross_encoder.train.fit", keep)
    train_classifier(recipe_of(tmp_path / "pairs.jsonl", tiny_reader, epochs=3, loss=loss), tmp_path / "m")
    orders = [[tuple(candidate.window.ids) for candidate in row] for row in examples]
    if loss == "listwise_softmax":
        epochs = [orders[begin : begin + 40] for begin in (0, 40, 80)]
        assert len(orders) == 120
    else:
        epochs = [orders[begin : begin + 36] for begin in (0, 36, 72)]  # the rests come last
        assert len(orders) == 123
        lengths = [[len(window) for (window,) in epoch[begin : begin + 12]] for epoch in epochs for begin in (0, 12, 24)]
        assert all(max(batch) - min(batch) <= 12 for batch in lengths)
    assert epochs[0] != epochs[1] != epochs[2]


def test_pairs_without_negatives_are_refused(tiny: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "gold.jsonl", [{"question": "q", "answer": "a"}])
    with pytest.raises(InputError, match="oreqa mine negatives"):
        train_classifier(recipe_of(tmp_path / "gold.jsonl", tiny), tmp_path / "m")


def test_sentences_that_only_seem_to_answer_are_negatives(tiny: Path, tmp_path: Path) -> None:
    text = "A fox runs. Bears sleep in caves. Owls hoot."
    plausible = (Gold("caves", text.index("caves")), Gold("Bears", text.index("Bears")), Gold("Owls", text.index("Owls")))
    questions = (
        Question("1", "who runs", (Gold("fox", 2),)),
        Question("2", "where do foxes sleep", (), plausible),
        Question("3", "who swims", ()),
    )
    rows = plausible_candidates([Paragraph("Forest_life", text, questions), Paragraph("Other", "", questions[2:])])
    assert [(question, c.answer, c.context, c.head) for question, c in rows] == [
        ("where do foxes sleep", "Bears sleep in caves.", text, "Forest life"),
        ("where do foxes sleep", "Owls hoot.", text, "Forest life"),
    ]
    inputs = CrossEncoderInputs(tiny / "tokenizer.json", 32, "alone")
    lists = negative_lists(rows, inputs)
    assert [[(c.label, c.weight) for c in candidates] for candidates in lists] == [[(0.0, 1.0)]] * 2
    assert lists[0][0].window == inputs.windows(rows)[0]


def test_a_classifier_learns_from_unanswerable_questions(pairs_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    questions = [Question(f"u{n}", f"who moved to the city of {n}", (), (Gold("fox", 2),)) for n in range(40)]
    paragraphs = [Paragraph(f"Fox {n}", "A fox runs.", (question,)) for n, question in enumerate(questions)]
    save_squad(tmp_path / "two.json", paragraphs, "2.0")
    kept = [p for p in paragraphs if not is_held_out(p)]
    record = train_classifier(recipe_of(pairs_file, tiny_reader, plausible=[str(tmp_path / "two.json")]), tmp_path / "m")
    assert record["rejected"] == len(kept) < 40
    with_negatives = sum(1 + len(pair.negatives) for pair in load_pairs(pairs_file))
    assert record["steps"] == -(-(with_negatives + len(kept)) // 12)
    save_squad(tmp_path / "one.json", [Paragraph("Fox", "A fox runs.", (Question("1", "who", (Gold("fox", 2),)),))])
    with pytest.raises(InputError, match=r"one\.json: no question of its training articles has plausible answers"):
        train_classifier(recipe_of(pairs_file, tiny_reader, plausible=[str(tmp_path / "one.json")]), tmp_path / "n")
    with pytest.raises(ValueError, match=r"plausible = .* would be ignored: it needs loss=cross_entropy"):
        recipe_of(pairs_file, tiny_reader, plausible=[str(tmp_path / "two.json")], loss="listwise_softmax")
