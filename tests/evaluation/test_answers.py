from __future__ import annotations

import collections
import json
import re
import string
from pathlib import Path

import pytest
from parameters import first_and_system

from oreqa.datasets.paragraphs import load_squad
from oreqa.errors import InputError
from oreqa.evaluation.answers import evaluate_answers, score_answer, score_answer_file

# A reference written from the published description of SQuAD's evaluation: each step by itself.


def reference_words(text: str) -> list[str]:
    kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def reference_f1(prediction: str, gold: str) -> float:
    found, wanted = reference_words(prediction), reference_words(gold)
    left = collections.Counter(wanted)
    same = 0
    for word in found:
        if left[word] > 0:
            left[word] -= 1
            same += 1
    return 0.0 if same == 0 else 2 * (same / len(found)) * (same / len(wanted)) / (same / len(found) + same / len(wanted))


def reference(predictions: dict[str, str], golds: dict[str, list[str]]) -> dict[str, float]:
    em = f1 = 0.0
    for name, texts in golds.items():
        if name in predictions:
            em += max(reference_words(predictions[name]) == reference_words(gold) for gold in texts)
            f1 += max(reference_f1(predictions[name], gold) for gold in texts)
    return {"em": 100 * em / len(golds), "f1": 100 * f1 / len(golds)}


CASES = [
    ("The  Beatles!", "beatles", 1, 1),
    ("an a the", "", 1, 0),  # 1.1's F1 of two empty strings is 0
    ("U.S.A.", "USA", 1, 1),
    ("Theatre", "the atre", 0, 0),
    ("“quoted”", "quoted", 0, 0),  # only ASCII punctuation is deleted
    ("naïve café", "Naïve Café", 1, 1),
    ("na\u00efve", "nai\u0308ve", 0, 0),  # no unicode normalisation
    ("a b b", "b b c", 0, 4 / 5),
    ("İstanbul", "istanbul", 0, 0),
    ("ten–twenty", "ten–twenty", 1, 1),
    ("", "x", 0, 0),
]


@pytest.mark.parametrize(("prediction", "gold", "em", "f1"), CASES)
def test_normalisation(prediction: str, gold: str, em: float, f1: float) -> None:
    score = score_answer(prediction, [gold])
    assert (score.em, score.f1) == (em, pytest.approx(f1))
    assert score.f1 == pytest.approx(reference_f1(prediction, gold))


def test_version_2_knows_no_answer() -> None:
    assert score_answer("", [], version2=True).f1 == 1
    assert score_answer("x", [], version2=True).em == 0
    assert score_answer("", ["x"], version2=True).f1 == 0
    assert score_answer("", ["...", "x"], version2=True).em == 0  # the empty gold is left out
    assert score_answer("x", ["y", "x z"], version2=True).f1 == pytest.approx(2 / 3)


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("kind", first_and_system(["half missing", "first gold", "empty", "last gold"]))
def test_predictions_of_squad_dev_score_as_the_reference(data: Path, tmp_path: Path, kind: str) -> None:
    gold = data / "squad" / "squad-v1.1-dev.json.gz"
    golds = {q.id: [g.text for g in q.answers] for p in load_squad(gold) for q in p.questions}
    predictions = {
        "first gold": {name: texts[0] for name, texts in golds.items()},
        "empty": dict.fromkeys(golds, ""),
        "last gold": {name: f"the {texts[-1]}!" for name, texts in golds.items()},
        "half missing": {name: texts[0] for name, texts in list(golds.items())[::2]},
    }[kind]
    (tmp_path / "p.json").write_text(json.dumps(predictions))
    metrics, scores = score_answer_file(gold, tmp_path / "p.json")
    wanted = reference(predictions, golds)
    assert metrics["em"] == pytest.approx(wanted["em"])
    assert metrics["f1"] == pytest.approx(wanted["f1"])
    assert len(scores) == len(golds) == 10570
    assert {"first gold": metrics["em"] == 100, "empty": metrics["em"] < 0.1}.get(kind, True)


@pytest.mark.slow
@pytest.mark.shared_data
def test_version_2_counts_both_kinds(data: Path, tmp_path: Path) -> None:
    gold = data / "squad" / "squad-v2.0-dev.json.gz"
    (tmp_path / "p.json").write_text(json.dumps({q.id: "" for p in load_squad(gold) for q in p.questions}))
    metrics, _ = score_answer_file(gold, tmp_path / "p.json")
    assert metrics["unanswerable"] == 5945
    assert metrics["unanswerable_em"] == metrics["unanswerable_f1"] == 100
    assert metrics["answerable_em"] == 0
    assert metrics["em"] == pytest.approx(100 * 5945 / 11873)


def test_a_table_of_questions_is_gold_by_its_ids(tmp_path: Path) -> None:
    gold, predictions = tmp_path / "g.csv", tmp_path / "p.json"
    gold.write_text("id,question,answer\na,Who?,Ada|Ada L.\nb,Why?,\nc,When?,1843\n")
    predictions.write_text('{"a": "ada L", "b": "because", "c": "1843"}')
    metrics = evaluate_answers(predictions, gold)
    assert (metrics["em"], metrics["answerable_em"], metrics["unanswerable_em"]) == (pytest.approx(200 / 3), 100, 0)


def test_bad_files(tmp_path: Path) -> None:
    gold, predictions = tmp_path / "g.json", tmp_path / "p.json"
    gold.write_text('{"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "?", '
                    '"answers": [{"text": "c", "answer_start": 0}]}]}]}]}')  # fmt: skip
    for content, message in (
        ("[]", "from question ids to answer strings"),
        ('{"1": 2}', "from question ids"),
        ("{", "not JSON"),
    ):
        predictions.write_text(content)
        with pytest.raises(InputError, match=message):
            score_answer_file(gold, predictions)
    predictions.write_text('{"2": "x"}')
    assert score_answer_file(gold, predictions)[0]["missing"] == 1
    gold.write_text('{"data": [{}]}')
    with pytest.raises(InputError, match="not a SQuAD file"):
        score_answer_file(gold, predictions)
