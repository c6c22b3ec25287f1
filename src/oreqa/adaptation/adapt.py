"""Adapt an index's encoder to its documents: generate questions, train, measure, and publish what is better."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from oreqa.adaptation.cosines import compare_cosines
from oreqa.adaptation.questions import KEYWORD_SHARE, build_tasks, definition_pairs, heading_pairs, keyword_pairs
from oreqa.adaptation.stages import ENCODE, GENERATE, MEASURE, NEGATIVES, TRAIN, Estimate, Stages, estimate
from oreqa.arguments import as_path, count, text_list
from oreqa.core import Passage
from oreqa.datasets.pairs import load_pairs, pair_row
from oreqa.datasets.questions import load_question_list
from oreqa.datasets.reqa import ReqaTask
from oreqa.defaults import DEFAULT_GENERATOR
from oreqa.errors import InputError
from oreqa.evaluation.openqa import evaluate_openqa
from oreqa.evaluation.ranking import rank_sentences
from oreqa.evaluation.runs import load_run
from oreqa.evaluation.significance import Difference, paired_difference
from oreqa.files import read_json, write_json, write_jsonl, write_text
from oreqa.generation import generate_questions
from oreqa.index.change_encoder import change_encoder, copy_generation, take_encodings
from oreqa.index.encodings import ENCODINGS
from oreqa.index.generations import require_generation
from oreqa.index.locking import write_lock
from oreqa.index.search import Index
from oreqa.index.store import model_place
from oreqa.mining.negatives import draw_negatives
from oreqa.models.fitted import write_fitted
from oreqa.models.folders import FITTED
from oreqa.models.mixing import mix_weights
from oreqa.progress import Progress, no_progress
from oreqa.provenance import data_hash
from oreqa.training import need_torch

FOLDER = "adapted"
"""Where an index keeps its adaptations: a folder for each, numbered."""

REPORT, MEASURED = "report.json", "measured.json"
"""What a finished adaptation gained, and the same of one that is not published yet."""

QUESTIONS, PAIRS, RETRIEVER, SECONDS = "questions.jsonl", "pairs.jsonl", "retriever", "seconds.json"
"""What was generated, what is trained on, the new encoder, and what the stages took."""

TRIAL = "index"
"""The copy of the index that the new encoder is tried with."""

BEFORE, AFTER = "before", "after"
"""Folders of the answers to the user's questions."""

METRICS = ("em", "f1", "acc@1", "acc@5")
"""What is measured of them, where answers are short enough to tell: exact match, F1, and retrieval."""

SHARE = 0.5
"""Share of the trained weights in the mix with those before."""

P_VALUE = 0.05
"""The encoder is replaced if chance explains its gain with less than this probability."""

RECIPE = """kind = "retriever"
backbone = {backbone}
data = [{pairs}]
scale = 20.0
negatives = 3
batches = "distinct"
chunk = 64
dropout = 0.0
seed = {seed}

[optimiser]
learning_rate = 5e-5
batch = 64
checkpoint_steps = 50
"""

FEWEST = 30
"""Held-out questions without which no gain could be told from chance."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A metric of the same questions by the encoder ``before`` and ``after``, in percent, and the paired ``difference``."""

    before: float
    after: float
    difference: Difference

    @classmethod
    def of_questions(cls, before: Sequence[float], after: Sequence[float], seed: int) -> Gain:
        """From each question's value, 0 to 1."""
        first, second = (100 * sum(values) / len(values) for values in (before, after))
        return cls(first, second, paired_difference(before, after, seed))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Gain:
        """From what ``asdict`` made of one."""
        return cls(row["before"], row["after"], Difference(**row["difference"]))


@dataclass(frozen=True, slots=True)
class AdaptationReport:
    """What an adaptation learned from, and what it gained.

    ``held_out`` is the MRR of generated questions about held-out documents, by hybrid search over all sentences;
    ``user`` the metrics of the user's questions, if there are any. ``published`` says whether the index uses the new
    encoder, which lies in ``folder`` inside the index's. ``seconds`` is what each stage took, interrupted runs included.
    """

    folder: str
    passages: int
    train_questions: int
    held_out_questions: int
    held_out: Gain
    user: Mapping[str, Gain]
    published: bool
    seconds: Mapping[str, float]


def adapt_index(
    index: str | Path,
    *,
    generator: str | Path = DEFAULT_GENERATOR,
    extractor: str | Path | None = None,
    questions: str | Path | None = None,
    draw: int = 2000,
    answers: int = 3,
    round_trip: float = 0.8,
    seed: int = 0,
    device: str = "cpu",
    settings: str | Iterable[str] = (),
    announce: Callable[[Estimate], None] | None = None,
    progress: Progress = no_progress,
) -> AdaptationReport:
    """Train the encoder of an index on questions generated from its passages, and re-encode the index if that is better.

    Of ``draw`` passages the ``generator`` asks about up to ``answers`` spans each (``generate_questions``). With queries of
    keywords and headings, questions about definitions, and hard negatives, they train the encoder. The mean of its weights
    and those before is measured on questions about held-out documents, and published if it finds their sentences better
    (p < 0.05). Your own ``questions``, a list as for ``evaluate_openqa``, are answered before and after, too; the encoder is
    not published if significantly fewer answers are right (p < 0.05). ``settings`` change the training's recipe.
    ``announce`` is called before the work with an estimate of its time and disk.

    The index answers with the old encoder until all is done. Everything is kept in ``INDEX/adapted/N``: an interrupted run
    resumes when it is started again, unless the documents have changed. Raises InputError if the documents yield too few
    questions or the disk is too full, IndexStateError if another process is adapting the index, and whatever generation and
    training raise.
    """
    need_torch()
    folder = as_path(index, "an index's folder")
    settings = text_list(settings, "settings")
    draw, answers, seed = count(draw, "draw"), count(answers, "answers"), count(seed, "seed", 0)
    asked = None if questions is None else as_path(questions, "questions")
    if asked is not None:
        load_question_list(asked)  # a mistake in it must not show after hours
    with Index.open(folder, device) as opened, write_lock(folder / FOLDER, "adapting this index"):
        if report := _report_of_killed(folder, opened.settings.model):
            return report
        decisive = [opened.content_stamp, str(generator), str(extractor), draw, answers, round_trip, seed, settings]
        work = _begin(folder / FOLDER, hashlib.sha256(json.dumps(decisive).encode()).hexdigest())
        passages = list(opened.passages())
        expected = _estimate(opened, passages, work, min(draw, len(passages)) * answers, round_trip > 0, seed)
        if announce is not None:
            announce(expected)
        if expected.bytes > (free := shutil.disk_usage(work).free):
            need = f"about {expected.bytes / 1e6:,.0f} MB of disk are needed, and {free / 1e6:,.0f} MB are free"
            raise InputError(f"{folder}: {need}: free some, or move the index")
        stages = Stages(work / SECONDS)
        if not (generated := work / QUESTIONS).is_file():
            with stages(GENERATE):
                generate_questions(
                    generated,
                    index=folder,
                    generator=generator,
                    extractor=extractor,
                    answers=answers,
                    round_trip=round_trip,
                    draw=draw,
                    seed=seed,
                    device=device,
                    progress=progress,
                )
        report = _adapt(opened, passages, work, asked, settings, seed, device, progress, stages)
        write_json(work / MEASURED, asdict(report))
        if report.published:
            take_encodings(work / TRIAL, folder)
            change_encoder(folder, f"{report.folder}/retriever", device)
        _finish(work)
        return report


def _adapt(
    opened: Index,
    passages: Sequence[Passage],
    work: Path,
    asked: Path | None,
    settings: Sequence[str],
    seed: int,
    device: str,
    progress: Progress,
    stages: Stages,
) -> AdaptationReport:
    """Train on the questions in ``work``, encode a copy of the index there, and measure it before and after."""
    folder = opened.folder
    train, held_out = _tasks(passages, work / QUESTIONS, opened.settings.language, seed)
    if not (work / PAIRS).is_file():
        with stages(NEGATIVES), progress(NEGATIVES, len(train.questions)) as advance:
            write_jsonl(work / PAIRS, map(pair_row, draw_negatives(train, opened, seed, advance)))
    with stages(TRAIN):
        _train(work, model_place(folder, opened.settings.model), seed, settings, progress)
    with stages(MEASURE):
        before = _ranks(held_out, opened, "measuring the encoder before", progress)
        if asked is not None:
            _answer(asked, folder, work / BEFORE, seed, device, progress)
    trial, retriever = work / TRIAL, work / RETRIEVER
    copy_generation(folder, trial)
    with Index.open(trial, device) as adapted:
        if adapted.settings.model != str(retriever):
            with stages(ENCODE), progress(ENCODE, len(passages)) as advance:
                change_encoder(trial, retriever, device, advance)
        with stages(MEASURE):
            after = _ranks(held_out, adapted, "measuring the encoder after", progress)
            _keep_calibration(retriever, opened, adapted, held_out.questions)
            if asked is not None:
                _answer(asked, trial, work / AFTER, seed, device, progress)
    gain, of_user = Gain.of_questions(before, after, seed), {} if asked is None else _user_gains(work, seed)
    return AdaptationReport(
        folder=str(work.relative_to(folder)),
        passages=len(passages),
        train_questions=len(train.questions),
        held_out_questions=len(held_out.questions),
        held_out=gain,
        user=of_user,
        published=_is_certain(gain.difference) and not _is_worse(of_user),
        seconds=stages.seconds,
    )


def _estimate(
    opened: Index, passages: Sequence[Passage], work: Path, questions: int, round_trip: bool, seed: int
) -> Estimate:
    """What is left of an adaptation in ``work`` that asks so many ``questions``."""
    by_rule = sum(1 for _ in chain(heading_pairs(passages), definition_pairs(passages, seed)))
    others = questions // KEYWORD_SHARE + by_rule
    searched = [path.stat().st_size for path in require_generation(opened.folder).rglob("*")]
    encoded = [path.stat().st_size for path in opened.folder.glob(f"{ENCODINGS}*")]
    size = 2 * sum(searched) + sum(encoded)  # the trial's files and the next generation's are there at once
    whole = estimate(opened.encoder, passages, questions, others, round_trip, size)
    results = {GENERATE: QUESTIONS, NEGATIVES: PAIRS, TRAIN: f"{RETRIEVER}/model.safetensors"}
    done = {stage for stage, name in results.items() if (work / name).is_file()}
    return replace(whole, seconds={stage: time for stage, time in whole.seconds.items() if stage not in done})


def _finish(work: Path) -> None:
    """Remove what only the adaptation itself needed, and file its report, last."""
    for finished in (TRIAL, "trained"):
        shutil.rmtree(work / finished, ignore_errors=True)
    (work / SECONDS).unlink(missing_ok=True)
    (work / MEASURED).rename(work / REPORT)


def _report_of_killed(folder: Path, model: str) -> AdaptationReport | None:
    """The report of an adaptation that was killed when its encoder had been published; None if there is none."""
    work = folder / Path(model).parent
    if Path(model).parts[0] != FOLDER or not (work / MEASURED).is_file():
        return None
    content = read_json(work / MEASURED)
    _finish(work)
    user = {name: Gain.of_row(row) for name, row in content["user"].items()}
    return AdaptationReport(**{**content, "held_out": Gain.of_row(content["held_out"]), "user": user})


def _begin(place: Path, stamp: str) -> Path:
    """The folder of an adaptation: that of an unfinished one of the same documents and settings, or the next."""
    numbers = sorted(int(path.name) for path in place.glob("[0-9]*")) if place.is_dir() else []
    last = place / str(numbers[-1]) if numbers else None
    if last is not None and not (last / REPORT).is_file():
        started = read_json(last / "started.json") if (last / "started.json").is_file() else {}
        if started.get("stamp") == stamp:
            return last
        shutil.rmtree(last)
        numbers.pop()
    work = place / str(numbers[-1] + 1 if numbers else 1)
    work.mkdir(parents=True)
    write_json(work / "started.json", {"stamp": stamp})
    return work


def _tasks(passages: Sequence[Passage], questions: Path, language: str, seed: int) -> tuple[ReqaTask, ReqaTask]:
    """Tasks to train on and to measure by. Only generated questions measure: people ask more than words and headings."""
    generated = list(load_pairs(questions))
    by_rule = keyword_pairs(generated, passages, language), heading_pairs(passages), definition_pairs(passages, seed)
    train = build_tasks(passages, chain(generated, *by_rule))[0]
    held_out = build_tasks(passages, generated)[1]
    if len(held_out.questions) < FEWEST:
        raise InputError(
            f"{questions}: {len(held_out.questions)} of its {len(generated)} questions are held out to measure by; at least "
            f"{FEWEST} are needed: index more documents, or set draw or answers higher"
        )
    return train, held_out


def _train(work: Path, model: str, seed: int, settings: Sequence[str], progress: Progress) -> None:
    """Train ``work/trained``, and mix it into ``work/retriever``, unless they are there."""
    from oreqa.training import train_model

    trained, out = work / "trained", work / RETRIEVER
    if not (out / "model.safetensors").is_file():
        if not (trained / "run.json").is_file():
            recipe = RECIPE.format(backbone=json.dumps(model), pairs=json.dumps(str(work / PAIRS)), seed=seed)
            write_text(work / "retriever.toml", recipe)
            train_model("retriever", work / "retriever.toml", trained, settings, progress)
        # The weights of the retrieval scores fit a mix as they fit the trained model: cosines keep their scale.
        if (trained / FITTED).is_file():
            out.mkdir(exist_ok=True)
            shutil.copyfile(trained / FITTED, out / FITTED)
        mix_weights(trained, model, SHARE, out)


def _keep_calibration(retriever: Path, before: Index, after: Index, questions: Sequence[str]) -> None:
    """Write to the new encoder's folder what makes its scores probabilities, as the encoder before has it."""
    replaced, fitted = compare_cosines(before, after, questions), before.fitted
    calibration = fitted.calibration and fitted.calibration.rescaled(replaced.scales, replaced.offsets)
    changes = {} if calibration is None else {"calibration": asdict(calibration)}
    write_fitted(retriever / FITTED, replaced=asdict(replaced.replacing(fitted.replaced)), **changes)


def _answer(questions: Path, index: Path, out: Path, seed: int, device: str, progress: Progress) -> None:
    """Answer the user's questions from an index, unless these are answered."""
    if not (out / "metrics.json").is_file() or load_run(out).summary["data_sha256"] != data_hash([questions]):
        evaluate_openqa(questions, out, index=index, seed=seed, device=device, progress=progress)


def _user_gains(work: Path, seed: int) -> dict[str, Gain]:
    """What the user's questions gain in each of ``METRICS`` that was measured."""
    before, after = (list(load_run(work / name).questions.values()) for name in (BEFORE, AFTER))
    return {
        metric: Gain.of_questions([row[metric] for row in before], [row[metric] for row in after], seed)
        for metric in METRICS
        if all(metric in row for row in (*before, *after))
    }


def _is_certain(difference: Difference) -> bool:
    """Whether chance would hardly explain a gain."""
    return difference.mean > 0 and difference.p < P_VALUE


def _is_worse(gains: Mapping[str, Gain]) -> bool:
    return any(gain.difference.mean < 0 and gain.difference.p < P_VALUE for gain in gains.values())


def _ranks(task: ReqaTask, index: Index, name: str, progress: Progress) -> list[float]:
    """Each question's reciprocal rank, by hybrid search."""
    with progress(name, len(task.questions)) as advance:
        return [1 / min(result.ranks) for result in rank_sentences(task, index, "hybrid", advance)]
