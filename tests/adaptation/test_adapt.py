from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lives import LIVES, NAMES
from tiny_models import make_head, make_model
from typer.testing import CliRunner

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from architectures import make_prompted_encoder  # noqa: E402
from parameters import first_and_system  # noqa: E402

from oreqa.adaptation import AdaptationReport, adapt, adapt_index, outlook, tuning  # noqa: E402
from oreqa.adaptation.report import Outlook  # noqa: E402
from oreqa.adaptation.stages import ENCODE, FORESEE, GENERATE, MEASURE, NEGATIVES, TRAIN, Estimate  # noqa: E402
from oreqa.adaptation.work import Work  # noqa: E402
from oreqa.answering import Answerer  # noqa: E402
from oreqa.cli import app  # noqa: E402
from oreqa.core import Document  # noqa: E402
from oreqa.datasets.marks import Mark, question_id, remove_mark, set_mark  # noqa: E402
from oreqa.errors import IndexStateError, InputError, ModelError  # noqa: E402
from oreqa.evaluation.metrics import Difference  # noqa: E402
from oreqa.generation import candidates  # noqa: E402
from oreqa.index.change_encoder import change_encoder  # noqa: E402
from oreqa.index.current import write_lock  # noqa: E402
from oreqa.index.generations import newest_generation  # noqa: E402
from oreqa.index.in_memory import index_documents  # noqa: E402
from oreqa.index.search import Index  # noqa: E402
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder  # noqa: E402
from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.models.fitted import write_fitted  # noqa: E402
from oreqa.models.names import model_fingerprint  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402

SETTINGS = ["max_tokens=48", "optimiser.batch=8", "optimiser.checkpoint_steps=2", "optimiser.learning_rate=1e-3"]
STAGES = [GENERATE, NEGATIVES, TRAIN, ENCODE, MEASURE]


class Disk(NamedTuple):
    free: int


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    _make_small(monkeypatch)


def _make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny encoder reads letters: its passages are of few words, parts of sentences."""
    monkeypatch.setattr(candidates, "MIN_WORDS", 5)
    monkeypatch.setattr(candidates, "is_prose", bool)
    monkeypatch.setattr(adapt, "FEWEST_QUESTIONS", 1)


@pytest.fixture
def kb(fitted: Path, tmp_path: Path) -> Path:
    index_documents(tmp_path / "kb", LIVES, model=fitted)
    return tmp_path / "kb"


def better(before: object, after: object, seed: int) -> Difference:
    return Difference(0.1, 0.05, 0.15, 0.001)


def worse(before: object, after: object, seed: int) -> Difference:
    return Difference(-0.1, -0.15, -0.05, 0.001)


def run(kb: Path, **options: Any) -> AdaptationReport:
    return adapt_index(kb, **{"round_trip": 0, "settings": SETTINGS, "significance": better, "anyway": True, **options})


def test_a_better_encoder_is_published(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(kb) as index:
        before, answerer = index.settings.model, Answerer(index)
        calibration = answerer.calibration
        estimates: list[Estimate] = []
        report = run(kb, generator=tiny_generator, announce=estimates.append)
        assert report.published
        assert [*estimates[0].seconds] == STAGES
        assert report.seconds.keys() == set(STAGES)
        assert report.folder == "adapted/1"
        assert index.settings.model == "adapted/1/retriever" != before
        assert index.search("books about bees", mode="dense")
        assert index.fitted.fusion
        assert index.fitted.replaced
        assert answerer.calibration == index.fitted.calibration != calibration
        assert calibration
        assert answerer.calibration
    assert report.train_questions > report.held_out_questions > 0
    work = kb / "adapted" / "1"
    assert {path.name for path in work.iterdir()} == {
        "pairs.jsonl", "questions.jsonl", "report.json", "retriever", "retriever.toml", "started.json",
    }  # fmt: skip
    again = run(kb, generator=tiny_generator)
    assert again.folder == "adapted/2"


@pytest.mark.usefixtures("new_command_line")
def test_an_encoder_that_is_not_better_is_not_used(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.adaptation.adapt_index", partial(adapt_index, significance=worse), raising=False)
    generation = newest_generation(kb)
    options = [
        "--round-trip",
        "0",
        "--train-classifier",
        "none",
        "--json",
        *(part for text in SETTINGS for part in ("--set", text)),
    ]
    result = CliRunner().invoke(app, ["adapt", "--index", str(kb), "--generator", str(tiny_generator), *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["published"] is False
    assert json.loads(result.stdout)["classifier"] == {}
    assert not (kb / "adapted" / "1" / "classifier").exists()
    assert "this will take about" in result.stderr
    assert newest_generation(kb) == generation


@pytest.mark.usefixtures("new_command_line")
def test_an_encoder_that_is_not_behind_the_default_is_not_trained(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oreqa.adaptation.adapt_index", partial(adapt_index, significance=worse), raising=False)
    generation, command = newest_generation(kb), ["adapt", "--index", str(kb), "--generator", str(tiny_generator)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("no gain is to be expected: passages of ")
    assert result.stdout.endswith("train one nonetheless with --anyway\n")
    assert newest_generation(kb) == generation
    report = AdaptationReport.load(kb / "adapted" / "1" / "report.json")
    assert report.outlook is not None
    assert not report.outlook.expects_gain
    assert report.outlook.questions > 0
    assert (report.published, report.held_out, report.train_questions) == (False, None, 0)
    assert report.seconds.keys() == {FORESEE}
    assert {path.name for path in (kb / "adapted" / "1").iterdir()} == {"report.json", "retriever.toml", "started.json"}
    as_json = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert as_json["outlook"]["questions"] == report.outlook.questions


def test_an_encoder_that_is_behind_the_default_is_trained(kb: Path, tiny_generator: Path) -> None:
    estimates: list[Estimate] = []
    options = {"anyway": False, "announce": estimates.append}
    report = run(kb, generator=tiny_generator, **options)
    assert report.published
    assert report.outlook is not None
    assert report.outlook.expects_gain
    assert [*estimates[0].seconds] == [FORESEE, *STAGES]
    assert report.seconds.keys() == {FORESEE, *STAGES}
    assert AdaptationReport.load(kb / "adapted" / "1" / "report.json") == report


def test_the_default_encoder_is_not_trained(tmp_path: Path, tiny_generator: Path) -> None:
    index_documents(tmp_path / "kb", LIVES)
    command = ["adapt", "--index", str(tmp_path / "kb"), "--generator", str(tiny_generator)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("no gain is to be expected: minilm-retriever has learned from people's questions")
    assert "this will take" not in result.stderr
    report = AdaptationReport.load(tmp_path / "kb" / "adapted" / "1" / "report.json")
    assert report.outlook == Outlook(0, None)
    assert not report.published


@pytest.mark.parametrize("options", [{"marks": True}, {"classifier": "minilm-classifier"}])
def test_nothing_is_foreseen_where_there_is_more_to_teach(
    options: dict[str, Any], kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt, "_need_marks", lambda folder: [])
    monkeypatch.setattr(adapt, "generate_questions", _interrupt)
    estimates: list[Estimate] = []
    with pytest.raises(KeyboardInterrupt):
        run(kb, generator=tiny_generator, anyway=False, announce=estimates.append, **options)
    assert FORESEE not in estimates[0].seconds


def test_an_outlook_is_measured_once(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"generator": tiny_generator, "anyway": False}
    monkeypatch.setattr(adapt, "tune_encoder", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(kb, **options)
    monkeypatch.undo()
    _make_small(monkeypatch)
    monkeypatch.setattr(outlook, "generate_questions", _interrupt)
    estimates: list[Estimate] = []
    report = run(kb, announce=estimates.append, **options)
    assert report.outlook is not None
    assert FORESEE not in estimates[0].seconds


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("new_command_line")
def test_a_trained_classifier_re_ranks(
    kb: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oreqa.adaptation.adapt_index", partial(adapt_index, significance=better), raising=False)
    base = make_head(tmp_path / "base", "classifier", seed=8, marking="marked", max_tokens=48)
    write_fitted(base / "fitted.json", rerank_weight=0.7)
    options = [
        "--round-trip",
        "0",
        "--train-classifier",
        str(base),
        *(part for text in SETTINGS for part in ("--set", text)),
    ]
    result = CliRunner().invoke(app, ["adapt", "--index", str(kb), "--generator", str(tiny_generator), *options])
    assert result.exit_code == 0, result.output
    trained = kb / "adapted" / "1" / "classifier"
    assert f"re-rank with the trained classifier: --rerank 20 --classifier {trained}" in " ".join(result.stdout.split())
    assert "re-ranked by the trained classifier, against no re-ranking" in result.stdout
    assert (kb / "adapted" / "1" / "classifier.toml").is_file()
    folder = read_cross_encoder_folder(trained)
    assert (folder.kind, folder.marking, folder.max_tokens, folder.fitted.rerank_weight) == ("classifier", "marked", 48, 0.7)
    assert model_fingerprint(trained) != model_fingerprint(base)
    search = ["search", "books about bees", "--index", str(kb), "--rerank", "3", "--classifier", str(trained)]
    assert CliRunner().invoke(app, search).exit_code == 0


def broken_off(monkeypatch: pytest.MonkeyPatch, module: object, stage: str, kb: Path, **options: Any) -> None:
    """An adaptation that is interrupted where it calls ``stage``."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(module, stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(kb, **options)


def test_a_resumed_adaptation_trains_a_classifier_once_and_another_anew(
    kb: Path, tiny_generator: Path, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_head(tmp_path / "other", "classifier", seed=9, marking="marked")
    trained = kb / "adapted" / "1" / "classifier"
    states = []
    for base in (tiny_classifier, tiny_classifier, other):
        options = {"generator": tiny_generator, "settings": SETTINGS, "classifier": base}
        broken_off(monkeypatch, adapt, "keep_calibration", kb, **options)
        states.append((model_fingerprint(trained), (trained / "run.json").stat().st_mtime_ns))
    assert states[0] == states[1]
    assert states[0][0] != states[2][0]
    shutil.copy(make_head(tmp_path / "third", "classifier", seed=4, marking="marked") / "model.safetensors", other)
    broken_off(monkeypatch, adapt, "keep_calibration", kb, **options)  # the same name, other weights
    assert model_fingerprint(trained) not in {state[0] for state in states}
    with pytest.raises(ModelError, match="it is an encoder, not a classifier"):
        adapt_index(kb, generator=tiny_generator, classifier=kb / "adapted" / "1" / "retriever")


@pytest.mark.parametrize("kind", first_and_system(["retriever", "classifier"]))
def test_an_interrupted_training_resumes_in_an_index_that_was_moved(
    kb: Path, tiny_generator: Path, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    from transformers import TrainerCallback, trainer

    recipe = tuning.CLASSIFIER_RECIPE.replace("batch = 64", "batch = 4").replace(
        "checkpoint_steps = 10", "checkpoint_steps = 2"
    )
    monkeypatch.setattr(tuning, "CLASSIFIER_RECIPE", recipe)
    options = {"generator": tiny_generator, "settings": SETTINGS, "classifier": tiny_classifier}
    calls: list[int] = []

    class Stop(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, arguments: object, state: Any, control: object, **_: object) -> None:
            trains_classifier = "classifier" in arguments.output_dir  # type: ignore[attr-defined]
            if trains_classifier == (kind == "classifier") and state.global_step == 3 and not calls:
                calls.append(1)
                raise KeyboardInterrupt

    trainer.DEFAULT_CALLBACKS.append(Stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(kb, **options)
    finally:
        trainer.DEFAULT_CALLBACKS.remove(Stop)
    moved = kb.rename(tmp_path / "moved")
    if kind == "classifier":
        options["classifier"] = shutil.copytree(tiny_classifier, tmp_path / "copied")
    report = run(moved, **options)
    folder = moved / report.folder / kind
    record = json.loads((folder / "run.json").read_text())
    assert 0 < record["seconds_since_step"] < record["steps"]


@pytest.mark.parametrize("model_type", ["mpnet", "distilbert"])
def test_encoders_of_other_architectures_keep_their_prompts(model_type: str, tmp_path: Path, tiny_generator: Path) -> None:
    encoder = make_prompted_encoder(tmp_path / "encoder", model_type)
    index_documents(tmp_path / "kb", LIVES, model=encoder)
    assert run(tmp_path / "kb", generator=tiny_generator).published
    with Index.open(tmp_path / "kb") as index:
        assert index.settings.model == "adapted/1/retriever"
        assert index.search("books about bees", mode="dense")
    adapted, before = (read_encoder_folder(path) for path in (tmp_path / "kb" / "adapted" / "1" / "retriever", encoder))
    assert adapted.prompts == before.prompts
    assert adapted.config["model_type"] == model_type
    first, second = (load_weights(folder.path) for folder in (before, adapted))
    assert {name for name in first if not name.startswith("pooler.")} == second.keys()  # no retriever has a pooler
    assert not all((value == first[name]).all() for name, value in second.items())


@pytest.mark.parametrize(
    "setting", ["lora.rank=4", "projection=16", "towers=separate", "data=['x.jsonl']", "data_root=x", "backbone=tiny"]
)
def test_settings_that_end_in_another_encoder_are_refused_before_the_work(
    kb: Path, tiny_generator: Path, setting: str
) -> None:
    with pytest.raises(
        InputError, match=rf"settings change {re.split('[.=]', setting)[0]}: an adaptation trains the index's"
    ):
        run(kb, generator=tiny_generator, settings=[*SETTINGS, setting])
    assert not (kb / "adapted" / "1").exists()


@pytest.mark.parametrize("loses", first_and_system([False, True]))
def test_questions_of_the_user(
    kb: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loses: bool
) -> None:
    own = tmp_path / "own.jsonl"
    rows = [{"question": f"What did {name} read?", "answers": ["books about bees"]} for name in NAMES[:2]]
    own.write_text("".join(json.dumps(row) + "\n" for row in rows))
    calls: list[int] = []

    def significance(before: object, after: object, seed: int) -> Difference:
        calls.append(1)
        return better(before, after, seed) if len(calls) == 1 or not loses else worse(before, after, seed)

    report = run(kb, generator=tiny_generator, questions=own, significance=significance)
    assert report.user.keys() == {"em", "f1", "acc@1", "acc@5"}
    assert report.published is not loses
    (kb / report.folder / "report.json").rename(kb / report.folder / "measured.json")
    if not loses:
        assert run(kb, generator=tiny_generator, questions=own) == report
        (kb / report.folder / "report.json").rename(kb / report.folder / "measured.json")
        other = run(kb, generator=tiny_generator)
        assert (other.folder, other.user) == ("adapted/2", {})
    own.write_text("no list")
    with pytest.raises(InputError, match=r"own\.jsonl"):
        adapt_index(kb, generator=tiny_generator, questions=own)
    own.write_text('{"question": "What did Ada read?"}\n')
    with pytest.raises(InputError, match=r"own\.jsonl, line 1: it has neither answers nor a pattern"):
        adapt_index(kb, generator=tiny_generator, questions=own)


def mark_lives(kb: Path, most: int = 100) -> int:
    """Mark the first words of passages; how many there are."""
    with Index.open(kb) as index:
        passages = list(index.passages())[:most]
    for number, passage in enumerate(passages):
        question, answer = f"Who came in {1800 + number}?", passage.text.split()[0]
        place = passage.document_key, passage.sentences[0].text, passage.text, passage.title, passage.text.index(answer)
        set_mark(kb, Mark(question_id(question), question, (answer,), "right", "", *place))
    return len(passages)


@pytest.mark.parametrize("gains", [(True, True), (False, True), (True, False), (False, False)])
def test_half_of_the_marks_are_learned_from_and_the_others_measure(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch, gains: tuple[bool, bool]
) -> None:
    monkeypatch.setattr(adapt, "FEWEST_MARKS", 1)
    marked = mark_lives(kb)
    differences = iter([better(0, 0, 0) if gain else Difference(0.0, -0.1, 0.1, 0.5) for gain in gains])
    report = run(kb, generator=tiny_generator, marks=True, significance=lambda *_: next(differences))
    assert report.marks is not None
    assert (report.marks_learned + report.marks_measured, report.marks.difference.mean > 0) == (marked, gains[1])
    assert 0 < report.marks_learned < marked
    assert report.published is any(gains)
    pairs = [json.loads(line)["question"] for line in (kb / report.folder / "pairs.jsonl").read_text().splitlines()]
    assert len({question for question in pairs if question.startswith("Who came")}) == report.marks_learned
    assert AdaptationReport.load(kb / report.folder / "report.json") == report
    assert not (kb / report.folder / "marks.jsonl").exists()


def test_other_marks_keep_the_generated_questions(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "FEWEST_MARKS", 1)
    marked = mark_lives(kb)
    interrupted = partial(run, kb, generator=tiny_generator, marks=True)
    with monkeypatch.context() as broken:
        broken.setattr(adapt, "change_encoder", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    assert (kb / "adapted" / "1" / "trained").is_dir()
    remove_mark(kb, question_id("Who came in 1800?"))
    monkeypatch.setattr(adapt, "generate_questions", None)
    report = interrupted()
    assert (report.folder, report.marks_learned + report.marks_measured) == ("adapted/1", marked - 1)


def raise_interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_too_few_marks_are_reported_before_the_work(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "generate_questions", None)
    mark_lives(kb, 7)
    with pytest.raises(InputError, match="7 of its marks have an answer; at least 20 are needed"):
        run(kb, generator=tiny_generator, marks=True)
    monkeypatch.setattr(adapt, "FEWEST_MARKS", 3)
    index_documents(kb, [replace(life, text=life.text.upper()) for life in LIVES])
    with pytest.raises(InputError, match="0 are about one half of the documents and 0 about the other; at least 3"):
        run(kb, generator=tiny_generator, marks=True)
    assert not (kb / "adapted" / "1").exists()


def test_a_full_disk_is_reported_before_the_work(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "generate_questions", None)
    monkeypatch.setattr(adapt.shutil, "disk_usage", lambda path: Disk(free=100))
    with pytest.raises(InputError, match="MB of disk are needed, and 0 MB are free"):
        adapt_index(kb, generator=tiny_generator, settings=SETTINGS)


@pytest.mark.parametrize("stage", ["draw_negatives", "mix_weights", "change_encoder", "keep_calibration"])
def test_an_interrupted_adaptation_resumes(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    homes = {"mix_weights": tuning}
    stages = {"generate_questions": 0, "mix_weights": 0}
    for name in stages:
        module = homes.get(name, adapt)
        function = getattr(module, name)

        def counted(*args: object, name: str = name, function: object = function, **options: object) -> object:
            stages[name] += 1
            return function(*args, **options)  # type: ignore[operator]

        monkeypatch.setattr(module, name, counted)
    with monkeypatch.context() as broken:

        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(homes.get(stage, adapt), stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(kb, generator=tiny_generator)
    with Index.open(kb) as index:
        assert index.search("books about bees")  # as before
    report = run(kb, generator=tiny_generator)
    assert report.published
    assert stages == {"generate_questions": 1, "mix_weights": 1}
    with Index.open(kb) as index:
        assert index.settings.model == "adapted/1/retriever"


def test_one_that_was_interrupted_while_publishing_resumes(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, changed = adapt.change_encoder, []

    def second_time(folder: Path, *arguments: object, **options: object) -> int:
        changed.append(folder)
        if folder == kb and changed.count(kb) == 1:
            raise KeyboardInterrupt
        return change(folder, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(adapt, "change_encoder", second_time)
    with pytest.raises(KeyboardInterrupt):
        run(kb, generator=tiny_generator)
    assert run(kb, generator=tiny_generator).published
    assert changed == [kb / "adapted" / "1" / "index", kb, kb]
    with Index.open(kb) as index:
        assert index.settings.model == "adapted/1/retriever"


@pytest.mark.parametrize("files", [1, 22, 26, 34])
def test_one_that_was_killed_while_it_tidied_up_is_finished(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    unlink, finish, unlinked = os.unlink, adapt.finish, []

    def killed(work: Work) -> None:
        def until_killed(*arguments: Any, **options: Any) -> None:
            if len(unlinked) == files:
                raise KeyboardInterrupt
            unlinked.append(arguments)
            unlink(*arguments, **options)

        monkeypatch.setattr(os, "unlink", until_killed)
        finish(work)

    with monkeypatch.context() as killing:
        killing.setattr(adapt, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            run(kb, generator=tiny_generator, significance=worse)
    monkeypatch.setattr(os, "unlink", unlink)
    assert not run(kb, generator=tiny_generator, significance=worse).published
    assert {path.name for path in (kb / "adapted" / "1").iterdir()} == {
        "pairs.jsonl", "questions.jsonl", "report.json", "retriever", "retriever.toml", "started.json",
    }  # fmt: skip


def test_one_that_was_killed_after_publishing_is_finished(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(kb, generator=tiny_generator)
    work = kb / "adapted" / "1"
    (work / "report.json").rename(work / "measured.json")
    assert run(kb, generator=tiny_generator) == first
    assert (work / "report.json").is_file()
    (work / "report.json").rename(work / "measured.json")
    other = run(kb, generator=tiny_generator, seed=7)
    assert (other.folder, (work / "report.json").is_file()) == ("adapted/2", True)


def test_documents_that_come_meanwhile_are_published_too(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = tuning.mix_weights
    with Index.open(kb) as index:
        passages = index.counts()["passages"]

    def updated(*arguments: Any, **settings: Any) -> None:
        index_documents(kb, [Document("new", "More", "Walruses whistle to tell the others where the mussels are.")])
        mix(*arguments, **settings)

    monkeypatch.setattr(tuning, "mix_weights", updated)
    report = run(kb, generator=tiny_generator)
    assert (report.published, report.passages) == (True, passages)
    with Index.open(kb) as index:
        assert index.settings.model == "adapted/1/retriever"
        assert index.search("walruses whistle", 1, mode="sparse")[0].passage.document_key == "new"


def test_a_wrong_setting_is_refused_before_the_work_and_another_keeps_the_questions(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated, generate_questions = [], adapt.generate_questions

    def counted(*arguments: object, **options: object) -> object:
        generated.append(arguments)
        return generate_questions(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(adapt, "generate_questions", counted)
    with pytest.raises(
        InputError, match=r"the setting optimizer.batch=8: there is no key optimizer; did you mean optimiser"
    ):
        run(kb, generator=tiny_generator, settings=["optimizer.batch=8"])
    assert (generated, (kb / "adapted" / "1").exists()) == ([], False)
    with monkeypatch.context() as broken:
        broken.setattr(adapt, "keep_calibration", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(kb, generator=tiny_generator)
    work = kb / "adapted" / "1"
    first = model_fingerprint(work / "retriever")
    with pytest.raises(InputError, match="the setting optimizer"):
        run(kb, generator=tiny_generator, settings=["optimizer.batch=8"])
    assert model_fingerprint(work / "retriever") == first
    assert run(kb, generator=tiny_generator, settings=[*SETTINGS, "seed=3"]).published
    assert len(generated) == 1
    assert model_fingerprint(work / "retriever") != first
    with Index.open(kb) as index:
        assert index.search("books about bees", mode="dense")  # vectors and encoder belong together


def test_the_encoder_stays_what_it_is(
    tmp_path: Path, kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_encoder(kb, make_model(tmp_path / "cls", pooling="cls", normalise=False))
    report = run(kb, generator=tiny_generator)
    folder = read_encoder_folder(kb / report.folder / "retriever")
    assert (folder.pooling, folder.context, folder.normalise) == ("cls", "none", False)


def test_an_encoder_with_other_layers_is_refused_before_the_work(tmp_path: Path, kb: Path, tiny_generator: Path) -> None:
    change_encoder(kb, make_model(tmp_path / "dense", dense=True))
    with pytest.raises(InputError, match="dense: only one transformer with mean or cls pooling can be adapted"):
        run(kb, generator=tiny_generator)


def test_an_empty_index(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "empty", [])
    with pytest.raises(InputError, match="it holds no text to ask about; add some with: oreqa index PATH"):
        adapt_index(tmp_path / "empty", generator=tiny_generator)
    assert list((tmp_path / "empty" / "adapted").glob("[0-9]*")) == []


def test_what_a_kill_leaves_half_copied_is_no_hindrance(
    kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("before-index", "index"):
        (kb / "adapted" / "1" / name / "search-000001").mkdir(parents=True)
    (kb / "adapted" / "2.bak").mkdir()
    assert run(kb, generator=tiny_generator).folder == "adapted/1"


def test_other_documents_begin_anew(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(tuning, "mix_weights", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(kb, generator=tiny_generator)
    index_documents(kb, [Document("new", "More", "Bees dance to tell the others where the flowers are in the field.")])
    with Index.open(kb) as index:
        passages = index.counts()["passages"]
    report = run(kb, generator=tiny_generator)
    assert (report.folder, report.passages) == ("adapted/1", passages)


def test_too_few_questions(kb: Path, tiny_generator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "FEWEST_QUESTIONS", 1000)
    with pytest.raises(InputError, match=r"would be asked about, which gives \d+ questions .* 1000 are needed: index more"):
        run(kb, generator=tiny_generator)
    assert not (kb / "adapted" / "1").exists()
    monkeypatch.setattr(adapt, "MOST_PASSING", 1000)
    with pytest.raises(InputError, match="are held out to measure by; at least 1000 are needed: index more documents"):
        run(kb, generator=tiny_generator)


def test_one_process_at_a_time_adapts_an_index(kb: Path, tiny_generator: Path) -> None:
    with (
        write_lock(kb / "adapted"),
        pytest.raises(IndexStateError, match="another process is adapting this index; wait until it has finished"),
    ):
        run(kb, generator=tiny_generator)
    assert not (kb / "adapted" / "1").exists()


def test_a_folder_without_an_index_stays_as_it_is(tmp_path: Path, tiny_generator: Path) -> None:
    with pytest.raises(IndexStateError):
        adapt_index(tmp_path / "none", generator=tiny_generator)
    assert not (tmp_path / "none").exists()
