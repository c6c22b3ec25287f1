"""The folder of an adaptation, inside the index's: what lies in it, how it is begun, found again and finished."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oreqa.adaptation.report import AdaptationReport
from oreqa.adaptation.stages import GENERATE, NEGATIVES, TRAIN_CLASSIFIER
from oreqa.errors import InputError
from oreqa.files import read_json, write_json, write_text
from oreqa.generation.drafts import partial_file
from oreqa.index.change_encoder import copy_generation
from oreqa.index.encodings import passage_hash
from oreqa.index.search import Index
from oreqa.models.encoder.folder import EncoderFolder, read_encoder_folder
from oreqa.models.folders import find_model, model_fingerprint
from oreqa.provenance import data_hash
from oreqa.training.recipes import load_recipe
from oreqa.training.records import TRAINING_STARTED
from oreqa.training.retriever.recipe import RetrieverRecipe

FOLDER = "adapted"
"""Where an index keeps its adaptations: a folder for each, numbered."""

STARTED, MEASURED, REPORT = "started.json", "measured.json", "report.json"
"""What an adaptation was started with, what it gained while it is not published yet, and the same when it is finished."""

ORIGINAL, TRIAL = "before-index", "index"
"""Copies of the index: as it was at the beginning, and to try the new encoder with."""

QUESTIONS, PAIRS, RECIPE, TRAINED, RETRIEVER, SECONDS = (
    "questions.jsonl", "pairs.jsonl", "retriever.toml", "trained", "retriever", "seconds.json",
)  # fmt: skip
"""Generated questions, the training's pairs and recipe, the trained encoder, its mix with the old one, the stages' times."""

CLASSIFIER_RECIPE, CLASSIFIER_TRAINED = "classifier.toml", "classifier"
"""How the classifier is trained, and its folder."""

BEFORE, AFTER = "before", "after"
"""Folders of the answers to the user's questions."""

FIXED = ("backbone", "data_root", "data", "encoder", "pooling", "towers", "projection", "alignment", "variational")
"""Keys of the recipe that settings may not change: the result could not be mixed with the encoder before."""

_RECIPE = """kind = "retriever"
backbone = {backbone}
data_root = {folder}
data = ["{pairs}"]
context = "{encoder.context}"
pooling = "{encoder.pooling}"
similarity = "{similarity}"
input_types = {input_types}
max_tokens = {encoder.max_tokens}
scale = {scale}
negatives = 3
batches = "distinct"
chunk = 64
dropout = 0.0
seed = {seed}

[optimiser]
learning_rate = 5e-5
batch = 64
checkpoint_steps = 10
"""


def begin(
    index: Path,
    arguments: Mapping[str, Any],
    settings: Sequence[str],
    classifier: str | None,
    questions: Path | None,
    seed: int,
) -> Path:
    """The folder of an adaptation: that of an unfinished one of the same documents and arguments, or the next.

    In it are copies of the index, so that updates of the index do not disturb, and the training's recipe. Of an unfinished
    one with other ``settings`` of the training, what was generated is kept. Raises InputError for an index that is empty or
    has an encoder that cannot be adapted, and for settings that do not fit.
    """
    place, of_run = index / FOLDER, _of_run(settings, classifier, questions)
    numbers = sorted(int(path.name) for path in place.iterdir() if path.name.isdecimal())
    work = place / str(numbers[-1] if numbers else 1)
    if (work / REPORT).is_file():
        work = place / str(numbers[-1] + 1)
    copy_generation(index, work / ORIGINAL)
    with removed_if_refused(work), Index.open(work / ORIGINAL) as original:
        if not original.counts()["passages"]:
            raise InputError(f"{index}: it holds no text to ask about; add some with: oreqa index PATH --index {index}")
        wanted = {"documents": _documents(original), "encoder": original.fingerprint, "arguments": arguments}
        model = original.settings.model
    with removed_if_refused(work):  # before anything is forgotten: a mistake in the settings must cost nothing
        _write_recipe(work, model, seed, settings)
    started = read_json(work / STARTED) if (work / STARTED).is_file() else {}
    if {key: started.get(key) for key in wanted} != wanted:
        for path in work.iterdir():
            if path.name not in (ORIGINAL, RECIPE):
                _remove(path)
    else:
        if started["settings"] != settings:
            _forget_training(work)
        if started.get("classifier") != of_run["classifier"]:
            _remove(work / CLASSIFIER_TRAINED)
    for trained, base in ((TRAINED, model), (CLASSIFIER_TRAINED, classifier)):
        _follow_move(work / trained, base)
    if not (work / STARTED).is_file() or not (work / TRIAL).is_dir():
        copy_generation(index, work / TRIAL)
    write_json(work / STARTED, {**wanted, **of_run})
    return work


def _of_run(settings: Sequence[str], classifier: str | None, questions: Path | None) -> dict[str, Any]:
    """What may change between two runs of an adaptation without new questions; part of the rest is done again."""
    return {
        "settings": settings,
        "classifier": None if classifier is None else model_fingerprint(find_model(classifier)),
        "questions": None if questions is None else data_hash([questions]),
    }


def _remove(path: Path) -> None:
    """Remove a file or a folder. What a kill leaves of a folder does not bear its name."""
    if path.is_dir():
        removed = path.with_name(f"{path.name}.removed")
        shutil.rmtree(removed, ignore_errors=True)
        shutil.rmtree(path.rename(removed))
    else:
        path.unlink(missing_ok=True)


def _follow_move(trained: Path, base: str | None) -> None:
    """Name the model that an unfinished training began with as it is named now: the index may have been moved."""
    if (trained / TRAINING_STARTED).is_file():
        started = read_json(trained / TRAINING_STARTED)
        write_json(trained / TRAINING_STARTED, {**started, "recipe": {**started["recipe"], "backbone": base}})


@contextmanager
def removed_if_refused(work: Path) -> Iterator[None]:
    """Remove the folder of an adaptation that is refused, unless questions were generated there."""
    try:
        yield
    except InputError:
        if not any(path.is_file() for path in (work / QUESTIONS, partial_file(work / QUESTIONS))):
            shutil.rmtree(work)
        raise


def finish(work: Path) -> None:
    """Remove what only the adaptation itself needed, and file its report, last."""
    for path in (work / ORIGINAL, work / TRIAL, work / TRAINED, *work.glob("*.removed")):
        shutil.rmtree(path, ignore_errors=True)
    (work / SECONDS).unlink(missing_ok=True)
    (work / MEASURED).rename(work / REPORT)


def report_of_killed(
    index: Path,
    arguments: Mapping[str, Any],
    settings: Sequence[str],
    classifier: str | None,
    questions: Path | None,
) -> AdaptationReport | None:
    """The report of the same adaptation that was killed when its encoder had been published; None if there is none.

    One of other documents or arguments is finished, too.
    """
    with Index.open(index) as current:
        model = Path(current.settings.model)
        work = index / model.parent
        if model.parts[0] != FOLDER or not (work / MEASURED).is_file():
            return None
        documents = _documents(current)
    started = read_json(work / STARTED)
    wanted = {"documents": documents, "arguments": arguments, **_of_run(settings, classifier, questions)}
    is_same = {key: started.get(key) for key in wanted} == wanted
    report = AdaptationReport.load(work / MEASURED) if is_same else None
    finish(work)
    return report


def _documents(index: Index) -> str:
    """A hash of an index's passages, whatever its encoder."""
    digest = hashlib.sha256()
    for passage in index.passages():
        digest.update(passage_hash(passage))
    return digest.hexdigest()


def _forget_training(work: Path) -> None:
    for name in (TRAINED, RETRIEVER, AFTER, MEASURED):
        _remove(work / name)
    if (work / SECONDS).is_file():
        seconds = read_json(work / SECONDS)
        write_json(
            work / SECONDS, {stage: seconds[stage] for stage in (GENERATE, NEGATIVES, TRAIN_CLASSIFIER) if stage in seconds}
        )


def _write_recipe(work: Path, model: str, seed: int, settings: Sequence[str]) -> None:
    """Write how the encoder is trained on, as what it is."""
    encoder = _plain_encoder(model)
    backbone, folder = (json.dumps(str(path), ensure_ascii=False) for path in (model, work))
    similarity, scale = ("cosine", 20.0) if encoder.normalise else ("dot", 1.0)
    recipe = _RECIPE.format(
        backbone=backbone,
        folder=folder,
        pairs=PAIRS,
        encoder=encoder,
        similarity=similarity,
        scale=scale,
        input_types=json.dumps(bool(encoder.query_token_type)),
        seed=seed,
    )
    write_text(work / RECIPE, recipe)
    plain, changed = (load_recipe(RetrieverRecipe, work / RECIPE, of) for of in ((), settings))
    for key in FIXED:
        if getattr(changed, key) != getattr(plain, key):
            raise InputError(
                f"settings change {key}: an adaptation trains the index's encoder, as it is, on its own questions"
            )


def _plain_encoder(model: str) -> EncoderFolder:
    """The settings of an index's encoder. Raises InputError if it has layers that cannot be mixed with trained ones."""
    folder = read_encoder_folder(find_model(model))
    if folder.questions or folder.dense or folder.attention or folder.cell:
        raise InputError(
            f"{model}: only one BERT with its pooling can be adapted, and this encoder has other layers, or is two: "
            "index with another model"
        )
    return folder
