"""``oreqa fit``: weights and calibration for an index and the models that answer from it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import oreqa.fitting
from oreqa.cli.application import Panel, app
from oreqa.cli.options import data_option, model_option
from oreqa.cli.output import model_or_none, print_json, say
from oreqa.cli.runs import runs

if TYPE_CHECKING:
    from oreqa.fitting.fit import FitReport

MEASURES = {
    "right": "right first answers, %",
    "mrr": "MRR of what answers",
    "brier": "Brier score, 0 is best",
    "ece": "calibration error",
    "auc_right": "AUC, right over wrong",
    "auc_answerable": "AUC, answerable over not",
    "decided": "right decisions at the threshold, %",
    "answered": "  answerable questions answered, %",
    "refused": "  unanswerable questions refused, %",
}


@runs(
    app,
    lambda: oreqa.fitting.fit_index,
    Panel.MODELS,
    data=Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="Questions with answers about the documents: SQuAD (.json), MRQA, pairs or a list (.jsonl).",
            show_default="generated ones",
        ),
    ],
    reader=Annotated[
        str | None,
        model_option(callback=model_or_none, help="Reader: a name, a folder, or none to fit answers that are sentences."),
    ],
    questions=Annotated[int, data_option(metavar="N", min=1, help="How many questions to draw, or to generate, at most.")],
)
def fit(report: FitReport, index: Path, as_json: bool) -> None:
    """Fit the weights of the scores and the calibration of answers for an index, its encoder and any reader.

    Models that come without them give no probability: their answers are "not calibrated". What is fitted lies in the
    index, for exactly these models, if it is better than what is there on questions that were held out. An interrupted run
    resumes when it is started again.

    [bold]oreqa fit --index kb --data questions.jsonl --reader my-reader[/bold]
    """
    if as_json:
        print_json({**asdict(report), "index": str(index)})
        return
    apart = ", each also asked without the documents that answer it" if report.left_out else ""
    say(f"{report.questions:,} questions of {report.data}, {report.unanswerable:,} without an answer{apart}")
    if report.missing:
        say(f"  {report.missing:,} others have an answer or a paragraph that the index does not hold")
    say(f"fitted on {report.fit_on:,}, measured on {report.measured_on:,} about other documents or passages:")
    say(f"  {'':36}{'before':>8}{'after':>8}")
    for name, meaning in MEASURES.items():
        before, after = (getattr(measures, name) for measures in (report.before, report.after))
        say(f"  {meaning:36}{_number(before):>8}{_number(after):>8}")
    say("  confidence    answers    right")
    for row in report.after.bins:
        say(f"  {100 * row.confidence:9.0f}% {100 * row.share:9.0f}% {100 * row.accuracy:7.0f}%")
    if report.fitted:
        say(f"{index} uses the fitted {', '.join(report.fitted)} with {_models(report)} from now on")
    else:
        say(f"{index} keeps what it has: the fitted calibration is not better")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _models(report: FitReport) -> str:
    return " and ".join(name for name in (report.encoder, report.reader, report.reranker) if name is not None)
