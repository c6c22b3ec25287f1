"""Fit the confidence of answers, and measure it on other questions.

Run:  python recipes/fit/confidence.py --data ../shared/data --work runs/confidence --out results/confidence/sentences.json

Half the articles of each set are indexed; where encoders were trained on a set, half of its held-out articles.
Questions about them are answerable, questions about the other half are not. The weights and the threshold are fitted on the
extractive sets; SQuAD 2.0 dev is only used to measure.

--write also stores how the base encoder's cosines map to the default encoder's, so that what is fitted for one can be
used for the other.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.adaptation.tuning import compare_cosines
from oreqa.answering.answerer import SENTENCES_TOP_K
from oreqa.answering.combining import sentence_features
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Paragraph, split_articles, whole_passages
from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import BASE_ENCODER, DEFAULT_ENCODER
from oreqa.fitting.calibrating import JudgedAnswers, answerable_threshold, calibration_summary, fit_logistic, probabilities
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.fitted import Calibration, ReplacedEncoder, fitted_file, write_fitted

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from common import TRAINED, kept_folder, write_result

FITTED = ("squad-train-pieces", "qed-nq-train", "afriqa-en", "fairytaleqa", "covidqa-passages", "timeqa-human")
NAMES = ("sentence_cosine", "passage_cosine", "sentence_coverage", "passage_coverage", "margin")
QUESTIONS = 1200
COMPARED = 1500
"""Questions on which the cosines of two encoders are compared."""


def fitting_paragraphs(path: Path) -> list[Paragraph]:
    """Return all paragraphs of a set, or those of its held-out articles."""
    paragraphs = load_paragraphs(path)
    return split_articles(paragraphs)[1] if path.name.split(".json")[0] in TRAINED else paragraphs


def compare_base(paths: list[Path], work: Path) -> ReplacedEncoder:
    """Fit how the base encoder's cosines map to the default encoder's, on held-out questions of the sets."""
    paragraphs = [paragraph for path in paths for paragraph in fitting_paragraphs(path)]
    questions = [question.text for paragraph in paragraphs for question in paragraph.questions]
    passages = whole_passages(paragraphs)
    base, default = (index_passages(work / name, passages, Settings(model=name)) for name in (BASE_ENCODER, DEFAULT_ENCODER))
    return compare_cosines(default, base, random.Random(0).sample(questions, COMPARED))


def collect(path: Path, work: Path) -> JudgedAnswers:
    """Return features of every question's best sentence: ``x``, whether it is ``right``, whether it is ``answerable``."""
    name = path.name.split(".json")[0]
    saved = work / f"{name}.npz"
    if saved.is_file():
        return JudgedAnswers(**np.load(saved))
    paragraphs = fitting_paragraphs(path)
    titles = sorted({p.title for p in paragraphs})
    random.Random(0).shuffle(titles)
    half = set(titles[: len(titles) // 2])
    here = build_reqa([p for p in paragraphs if p.title in half])
    away = build_reqa([p for p in paragraphs if p.title not in half])
    plain = name.startswith(("covidqa", "squad-train"))
    passages = tuple(
        replace(p, title="" if plain and p.title.startswith(("covid", "sq-")) else p.title) for p in here.passages
    )
    index = index_passages(work / name, passages)
    sentence_ids = [
        s for p in range(len(passages)) for s in [(passages[p].document_key, x.start) for x in passages[p].sentences]
    ]
    rng = random.Random(1)
    known = rng.sample(range(len(here.questions)), min(QUESTIONS, len(here.questions)))
    # Questions asked about both halves are left out.
    foreign = [q for q in away.questions if q not in set(here.questions)]
    foreign = rng.sample(foreign, min(len(known), len(foreign)))
    questions = [here.questions[i] for i in known] + foreign
    gold = [{sentence_ids[g] for g in here.gold[i]} for i in known] + [set() for _ in foreign]
    x, right, answerable = [], [], []
    for hits, golds in zip(index.search(questions, SENTENCES_TOP_K), gold, strict=True):
        if not hits:
            continue
        rival = hits[1].score if len(hits) > 1 else hits[0].score
        features = sentence_features(hits[0], rival)
        x.append([features[n] for n in NAMES])
        right.append((hits[0].passage.document_key, hits[0].sentence.start) in golds)
        answerable.append(bool(golds))
    result = JudgedAnswers(np.array(x), np.array(right), np.array(answerable))
    np.savez(saved, allow_pickle=False, **asdict(result))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/confidence"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="keep the calibration with the encoder, in its fitted.json")
    options = parser.parse_args()
    options.work = kept_folder(options.work, DEFAULT_ENCODER)
    sets = {name: collect(options.data / "extractive" / f"{name}.json.gz", options.work) for name in FITTED}
    result: dict[str, Any] = {"left_out": {}}
    for name in sets:  # each set is measured with what was fitted on the others
        others = [s for other, s in sets.items() if other != name]
        w, b = fit_logistic(others)
        p = probabilities(sets[name], w, b)
        result["left_out"][name] = calibration_summary(p, sets[name], answerable_threshold(others, w, b))
        print(name, result["left_out"][name], flush=True)
    w, b = fit_logistic(list(sets.values()))
    threshold = answerable_threshold(list(sets.values()), w, b)
    fitted = Calibration({n: round(float(v), 3) for n, v in zip(NAMES, w, strict=True)}, round(b, 3), threshold)
    print(fitted)
    result["fitted"] = {"weights": dict(fitted.weights), "bias": fitted.bias, "threshold": threshold}
    test = collect(options.data / "squad" / "squad-v2.0-dev.json.gz", options.work)
    p = probabilities(test, np.array([fitted.weights[n] for n in NAMES]), fitted.bias)
    result["squad-v2.0-dev, fitted"] = calibration_summary(p, test, fitted.threshold)
    print(result["squad-v2.0-dev, fitted"])
    if options.write:
        write_fitted(fitted_file(DEFAULT_ENCODER), calibration=result["fitted"])
        trained = [options.data / "extractive" / f"{name}.json.gz" for name in FITTED if name in TRAINED]
        write_fitted(fitted_file(BASE_ENCODER), replaced=asdict(compare_base(trained, options.work)))
    if options.out:
        write_result(options.out, result)


if __name__ == "__main__":
    main()
