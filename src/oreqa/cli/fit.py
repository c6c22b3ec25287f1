"""``oreqa fit``: fits weights and calibration for an index and the models that answer from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oreqa.fitting
from oreqa.cli.application import Panel, app
from oreqa.cli.options import data_option, model_option
from oreqa.cli.output import counted, model_or_none, print_json, say
from oreqa.cli.runs import runs
from oreqa.errors import InputError

if TYPE_CHECKING:
    from oreqa.fitting.fit import FitReport

MEASURES = {
    "right": "right first answers, %",
    "mrr": "MRR of the {unit} that answers",
    "brier": "Brier score, 0 is best",
    "constant_brier": "  of one probability for all answers",
    "ece": "calibration error",
    "auc_right": "AUC, right over wrong",
    "auc_answerable": "AUC, answerable over not",
    "decided": "right decisions at the threshold, %",
    "answered": "  answerable questions answered, %",
    "refused": "  unanswerable questions refused, %",
}

PARTS = {"search": "search weights", "combination": "answer weights", "calibration": "calibration"}


def _fit_or_undo() -> Callable[..., FitReport | bool]:
    """Return ``fit_index`` with an option to undo it."""
    fit_index = oreqa.fitting.fit_index

    def fit_or_undo(undo: bool, **settings: Any) -> FitReport | bool:
        if undo and settings["data"] is not None:
            raise InputError("--undo takes out what was fitted, and uses no --data: name one of the two")
        return oreqa.fitting.undo_fit(settings["index"]) if undo else fit_index(**settings)

    undo = Parameter("undo", Parameter.KEYWORD_ONLY, default=False)
    fit_or_undo.__signature__ = Signature([*signature(fit_index).parameters.values(), undo])  # type: ignore[attr-defined]
    return fit_or_undo


@runs(
    app,
    _fit_or_undo,
    Panel.MODELS,
    data=Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="Questions about the documents, with answers: CSV, TSV, .xlsx, SQuAD, MRQA, pairs or a list.",
            show_default="generated from the index",
        ),
    ],
    reader=Annotated[
        str | None,
        model_option(callback=model_or_none, help="Reader: a name or a folder; none fits answers that are sentences."),
    ],
    questions=Annotated[
        int, data_option(metavar="N", min=1, help="Draw at most N questions, or generate them from N passages; at least 90.")
    ],
    undo=Annotated[
        bool, typer.Option("--undo", help="Remove what was fitted on the index: the models' own weights are used again.")
    ],
)
def fit(report: FitReport | bool, index: Path, as_json: bool) -> None:
    """Fit search weights, answer weights and confidence for an index and the models that answer from it.

    Answers of models that were not fitted together have no probability: they are "not calibrated". This command fits it on
    questions about your documents, and measures it on held-out ones. What is better than before is stored in the index, and
    applies only to these models; --undo removes it. An interrupted run resumes when it is started again.

    [bold]oreqa fit --index kb --data questions.jsonl --reader my-reader[/bold]
    """
    if isinstance(report, bool):
        if as_json:
            print_json({"index": str(index), "undone": report})
        else:
            say(f"{index} uses {'again ' if report else ''}the weights and probabilities that its models come with")
        return
    if as_json:
        print_json({**asdict(report), "index": str(index)})
        return
    placed = counted(report.questions, "question")
    say(f"{report.data}: {placed} with an answer in the index, {report.unanswerable:,} without")
    if report.missing:
        say(f"  not used: {report.missing:,}, since the index does not hold their answer or paragraph")
    if report.left_out:
        say(f"  each question with an answer was also asked without the {report.held_out} that answer it")
    say(f"fitted on {report.fit_on:,}, measured on {report.measured_on:,} about other {report.held_out}:")
    unit = "sentence" if report.reader is None else "passage"
    say(f"  {'':36}{'before':>8}{'after':>8}")
    for name, meaning in MEASURES.items():
        before, after = (getattr(measures, name) for measures in (report.before, report.after))
        say(f"  {meaning.format(unit=unit):36}{_number(before):>8}{_number(after):>8}")
    if "search" not in report.fitted:
        say("the search keeps its weights: fitted ones are not better by more than chance would explain (p < 0.05)")
    if "calibration" in report.fitted:
        say("  confidence    answers    right")
        for row in report.after.bins:
            say(f"  {100 * row.confidence:9.0f}% {100 * row.share:9.0f}% {100 * row.accuracy:7.0f}%")
    elif report.before.brier is None:
        say('answers stay "not calibrated": the fitted confidence is no better than one probability for all answers')
    else:
        say("the calibration stays: the fitted one is not better by more than chance would explain (p < 0.05)")
    if report.kept_answers:
        say(f"kept: {counted(report.kept_answers, 'held-out answer')}, for: oreqa ask --at-least SHARE")
    if report.fitted:
        say(f"{index} now uses the fitted {_listed([PARTS[name] for name in report.fitted])} with {_models(report)}")
    else:
        say(f"{index} keeps its weights")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _models(report: FitReport) -> str:
    return _listed([name for name in (report.encoder, report.reader, report.reranker) if name is not None])
