"""``oreqa adapt``: adapts an index's models to its documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import oreqa.adaptation
from oreqa.cli.application import Panel, app
from oreqa.cli.options import data_option, model_here_or_none, model_option
from oreqa.cli.output import counted, print_json, say
from oreqa.cli.progress import duration
from oreqa.cli.runs import runs
from oreqa.defaults import DEFAULT_ENCODER

if TYPE_CHECKING:
    from oreqa.adaptation.report import AdaptationReport, Gain, Outlook
    from oreqa.adaptation.stages import Estimate


@runs(
    app,
    lambda: partial(oreqa.adaptation.adapt_index, announce=_announce),
    Panel.MODELS,
    announce=None,
    significance=None,
    classifier=Annotated[
        str | None,
        model_option(
            "--train-classifier",
            callback=model_here_or_none,
            help="Also train this classifier: a name or a folder.",
            show_default="none",
        ),
    ],
    questions=Annotated[
        Path | None,
        data_option(
            metavar="FILE", help="Your questions with answers (.csv, .tsv, .xlsx, .jsonl), measured before and after."
        ),
    ],
    anyway=Annotated[bool, data_option("--anyway", help="Train even where no gain is to be expected.")],
    marks=Annotated[
        bool,
        data_option(
            "--marks", help="Also learn from half of the index's marks, split by document, and measure by the other."
        ),
    ],
    draw=Annotated[int, data_option(metavar="N", min=1, help="Passages to ask about, drawn at random.")],
)
def adapt(report: AdaptationReport, index: Path, as_json: bool) -> None:
    """Train an index's encoder on its documents alone, and use it if it searches them better (needs the train extra).

    Questions are generated from the passages, the encoder learns from them, and is measured on questions about held-out
    documents. If the first few questions promise no gain, nothing is trained. With --marks it also learns from what people
    marked. The index answers as before until all is done; an interrupted run resumes when it is started again.

    [bold]oreqa adapt --index kb[/bold]
    """
    if as_json:
        print_json(asdict(report))
        return
    if report.outlook is not None:
        say(_expected(report.outlook))
    if report.held_out is None:
        say(f"{index} keeps its encoder, and none was trained; train one nonetheless with --anyway")
        return
    say(f"learned from {counted(report.train_questions, 'question')} about {counted(report.passages, 'passage')}")
    if report.marks_learned:
        say(f"  {report.marks_learned:,} of them are marked ones")
    say(f"took {_stages(report.seconds)}")
    rows = {f"MRR of {counted(report.held_out_questions, 'generated question')} about held-out documents": report.held_out}
    rows |= {f"  re-ranked by the trained classifier, against {rival}": gain for rival, gain in report.classifier.items()}
    if report.marks is not None:
        rows[f"MRR of {counted(report.marks_measured, 'marked question')} about other documents"] = report.marks
    for name, gain in {**rows, **{f"{metric} of your questions": gain for metric, gain in report.user.items()}}.items():
        middle, low, high = (f"{100 * x:+.1f}" for x in (gain.difference.mean, gain.difference.low, gain.difference.high))
        change = f"{middle} ({low} to {high}, p = {gain.difference.p:.4f})"
        say(f"  {name}: {gain.before:.1f} before, {gain.after:.1f} after: {change}")
    if report.published:
        say(f"{index} uses {report.folder}/retriever from now on")
    else:
        say(f"{index} keeps its encoder: {_why_kept(report)}; the trained one is in {index}/{report.folder}")
    if report.classifier and all(gain.is_certain for gain in report.classifier.values()):
        say(f"re-rank with the trained classifier: --rerank 20 --classifier {index}/{report.folder}/classifier")
    elif report.classifier:
        say(f"the trained classifier, in {index}/{report.folder}/classifier, {_why_not(report.classifier)}")


def _expected(outlook: Outlook) -> str:
    """Return what to expect of the adaptation, and why."""
    if outlook.default is None:
        return f"no gain is to be expected: {DEFAULT_ENCODER} has learned from people's questions what generated ones teach"
    search, change = outlook.default, outlook.default.difference
    return (
        f"{'a gain' if outlook.expects_gain else 'no gain'} is to be expected: passages of {outlook.questions:,} generated "
        f"questions have MRR {search.before:.1f} with this encoder, {search.after:.1f} with {DEFAULT_ENCODER} "
        f"({100 * change.mean:+.1f}; {100 * change.low:.1f} to {100 * change.high:.1f}, p = {change.p:.4f})"
    )


def _why_kept(report: AdaptationReport) -> str:
    if lost := [name for name, gain in report.user.items() if gain.is_loss]:
        return f"the other loses in {', '.join(lost)} of your questions"
    if report.marks is not None and report.marks.is_loss:
        return "the other loses in marked questions"
    assert report.held_out is not None
    if report.held_out.is_loss:
        return "the other loses in generated questions"
    gain = report.held_out.difference
    return f"the gain of the other may be chance (p = {gain.p:.4f})" if gain.mean > 0 else "the other gains nothing"


def _why_not(gains: Mapping[str, Gain]) -> str:
    """Return why a trained classifier is not recommended."""
    rival, gain = next((rival, gain) for rival, gain in gains.items() if not gain.is_certain)
    if gain.is_loss:
        return f"is worse than {rival}"
    return f"is no better than {rival} by more than chance (p = {gain.difference.p:.4f})"


def _announce(estimate: Estimate) -> None:
    say(f"this will take about {_stages(estimate.seconds)}; {estimate.bytes / 1e6:,.0f} MB of disk", err=True)


def _stages(seconds: Mapping[str, float]) -> str:
    """Format the total time and its stages."""
    return f"{duration(sum(seconds.values()))}: " + ", ".join(f"{name} {duration(time)}" for name, time in seconds.items())
