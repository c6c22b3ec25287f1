"""The folder of an adaptation, inside the index's: its contents, and how it is created, found again and finished."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oreqa.adaptation.report import AdaptationReport
from oreqa.adaptation.stages import GENERATE, NEGATIVES, TRAIN_CLASSIFIER
from oreqa.adaptation.tuning import write_encoder_recipe
from oreqa.datasets.marks import MARKS_FILE, Mark, mark_json
from oreqa.errors import InputError
from oreqa.files import read_json, remove, write_json
from oreqa.index.change_encoder import copy_generation
from oreqa.index.encodings import passage_hash
from oreqa.index.search import Index
from oreqa.models.names import find_model, model_fingerprint
from oreqa.paths import index_option, partial_file
from oreqa.provenance import data_hash, fingerprint

FOLDER = "adapted"
"""The folder of an index's adaptations, with a numbered folder for each."""


class Work:
    """The paths of an adaptation in its ``folder``, ``INDEX/adapted/N``.

    ``original`` and ``trial`` are copies of the index: the initial state, and one to try the new encoder with.
    ``first_questions`` are asked for the ``outlook``, of the index and of a copy with the default encoder,
    ``by_default``. ``trained`` is the trained encoder, ``retriever`` its mix with the previous one. ``before`` and
    ``after`` have the answers to the user's questions. ``started`` has the adaptation's arguments, ``measured`` its
    gains until they are published, and ``report`` the same once it is finished. ``marks`` are those used for training
    and measuring.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.index = folder, folder.parents[1]
        self.name = f"{FOLDER}/{folder.name}"
        self.original, self.trial = folder / "before-index", folder / "index"
        self.first_questions, self.outlook = folder / "first-questions.jsonl", folder / "outlook.json"
        self.by_default = folder / "default-index"
        self.questions, self.pairs = folder / "questions.jsonl", folder / "pairs.jsonl"
        self.recipe, self.trained, self.retriever = folder / "retriever.toml", folder / "trained", folder / "retriever"
        self.classifier_recipe, self.classifier = folder / "classifier.toml", folder / "classifier"
        self.before, self.after, self.marks = folder / "before", folder / "after", folder / MARKS_FILE
        self.started, self.measured, self.report = (folder / f"{name}.json" for name in ("started", "measured", "report"))
        self.seconds = folder / "seconds.json"


def begin(index: Path, arguments: Mapping[str, Any], state: Mapping[str, Any], classifier: str | None) -> Work:
    """Return the folder of an adaptation: an unfinished one of the same documents and arguments, or the next.

    It contains copies of the index, unaffected by updates of the index, and the training's recipe. From an unfinished
    one with other training settings (``run_state``), the generated questions are kept. Raises InputError for an index
    that is empty or has an encoder that cannot be adapted, and for invalid settings.
    """
    place, settings = index / FOLDER, state["settings"]
    numbers = sorted(int(path.name) for path in place.iterdir() if path.name.isdecimal())
    work = Work(place / str(numbers[-1] if numbers else 1))
    if work.report.is_file():
        work = Work(place / str(numbers[-1] + 1))
    copy_generation(index, work.original)
    with removed_if_refused(work), Index.open(work.original) as original:
        if not original.counts()["passages"]:
            raise InputError(f"{index}: it holds no text to ask about; add some with: oreqa index PATH{index_option(index)}")
        wanted = {"documents": _documents(original), "encoder": original.fingerprint, "arguments": arguments}
        model = original.settings.model
    with removed_if_refused(work):  # before anything is deleted: a mistake in the settings must cost nothing
        write_encoder_recipe(work.recipe, work.pairs, model, arguments["seed"], settings)
    started = read_json(work.started) if work.started.is_file() else {}
    if {key: started.get(key) for key in wanted} != wanted:
        for path in work.folder.iterdir():
            if path not in (work.original, work.recipe):
                remove(path)
    else:
        if started["settings"] != settings:
            _forget_training(work)
        if started.get("marks") != state["marks"]:
            _forget_training(work)
            remove(work.pairs)
        if started.get("classifier") != state["classifier"] or not work.pairs.is_file():
            remove(work.classifier)
    for trained, base in ((work.trained, model), (work.classifier, classifier)):
        _follow_move(trained, base)
    if not work.started.is_file() or not work.trial.is_dir():
        copy_generation(index, work.trial)
    write_json(work.started, {**wanted, **state})
    return work


def run_state(
    settings: Sequence[str], classifier: str | None, questions: Path | None, marks: Sequence[Mark]
) -> dict[str, Any]:
    """Return the arguments that may change between runs of an adaptation without new questions; later stages run again."""
    return {
        "settings": settings,
        "classifier": None if classifier is None else model_fingerprint(find_model(classifier)),
        "questions": None if questions is None else data_hash([questions]),
        "marks": fingerprint([mark_json(mark) for mark in marks]) if marks else None,
    }


def _follow_move(trained: Path, base: str | None) -> None:
    """Update the name of the model that an unfinished training began with: the index may have been moved."""
    from oreqa.training.records import TRAINING_STARTED  # torch takes seconds to import

    if (trained / TRAINING_STARTED).is_file():
        started = read_json(trained / TRAINING_STARTED)
        write_json(trained / TRAINING_STARTED, {**started, "recipe": {**started["recipe"], "backbone": base}})


@contextmanager
def removed_if_refused(work: Work) -> Iterator[None]:
    """Remove the folder of a refused adaptation, unless questions were generated in it."""
    try:
        yield
    except InputError:
        if not any(path.is_file() for path in (work.questions, partial_file(work.questions))):
            shutil.rmtree(work.folder)
        raise


def finish(work: Work) -> None:
    """Remove what only the adaptation itself needed; write its report last."""
    for path in (work.original, work.trial, work.trained, work.marks, work.first_questions, work.outlook):
        remove(path)
    for path in work.folder.glob("*.removed"):
        shutil.rmtree(path, ignore_errors=True)
    work.seconds.unlink(missing_ok=True)
    work.measured.rename(work.report)


def report_of_killed(index: Path, arguments: Mapping[str, Any], state: Mapping[str, Any]) -> AdaptationReport | None:
    """Return the report of the same adaptation if it was killed after its encoder was published; None otherwise.

    One of other documents or arguments is also finished.
    """
    with Index.open(index) as current:
        model = Path(current.settings.model)
        if model.parts[0] != FOLDER or not (work := Work(index / model.parent)).measured.is_file():
            return None
        wanted = {"documents": _documents(current), "arguments": arguments, **state}
    started = read_json(work.started)
    is_same = {key: started.get(key) for key in wanted} == wanted
    report = AdaptationReport.load(work.measured) if is_same else None
    finish(work)
    return report


def _documents(index: Index) -> str:
    """Return a hash of an index's passages, independent of its encoder."""
    digest = hashlib.sha256()
    for passage in index.passages():
        digest.update(passage_hash(passage))
    return digest.hexdigest()


def _forget_training(work: Work) -> None:
    for path in (work.trained, work.retriever, work.after, work.measured):
        remove(path)
    if work.seconds.is_file():
        seconds = read_json(work.seconds)
        write_json(
            work.seconds, {stage: seconds[stage] for stage in (GENERATE, NEGATIVES, TRAIN_CLASSIFIER) if stage in seconds}
        )
