"""``oreqa generate``: generates questions from documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import oreqa.generation
from oreqa.cli.application import Panel, app
from oreqa.cli.options import Option, data_option, models_option
from oreqa.cli.output import counted, print_json, say
from oreqa.cli.runs import runs
from oreqa.errors import OreqaError

if TYPE_CHECKING:
    from oreqa.generation.generate import GenerationReport


@runs(
    app,
    lambda: oreqa.generation.generate_questions,
    Panel.DATA,
    out=Option.question_file,
    index=Option.data_index,
    entities=Annotated[
        str | None,
        models_option(metavar="NAME", help="A spaCy pipeline whose entities are the answers, such as en_core_web_sm."),
    ],
    styles=Annotated[
        list[str] | None,
        models_option(
            "--style",
            metavar="STYLE",
            help="Style of the questions; repeat it to alternate between several.",
            show_default="all it learned",
        ),
    ],
    draw=Annotated[int | None, data_option(metavar="N", min=1, help="How many passages to draw.", show_default="all")],
)
def generate(written: GenerationReport, out: Path, draw: int | None, part: str | None, as_json: bool) -> None:
    """Generate questions with answers from documents, as training data that people can read and edit.

    The generator writes a question about each likely answer span. A question is kept if the reader finds its answer again
    among all documents. An interrupted run resumes when it is started again. Several machines can share the work by parts: a
    run without --part collects their results.

    [bold]oreqa generate --index kb --out questions.jsonl[/bold]
    """
    from oreqa.generation.filters import REASONS

    if part is not None:
        if as_json:
            print_json(asdict(written))
        else:
            passages = counted(written.passages, "passage")
            say(f"part {part}: {passages} asked about; when all parts are done, run it without --part")
        return
    if not written.questions:
        raise OreqaError(f"no question was kept, so {out} was not written: {_reason(written, draw)}")
    if as_json:
        print_json({**asdict(written), "out": str(written.out)})
        return
    about = f"{written.asked_passages:,} of {counted(written.passages, 'passage')}"
    say(f"{counted(written.questions, 'question')} about {about} in {written.out}, {written.seconds:,.0f} s")
    rates = f"{written.passages_per_second:,.1f} passages, {written.candidates_per_second:,.1f} questions a second"
    say(f"  {written.candidates:,} were asked ({rates})")
    for reason, dropped in written.dropped.items():
        say(f"  {dropped:,} dropped: {REASONS[reason]}")
    if written.passed_over:
        say(f"  {counted(written.passed_over, 'other passage')} too short or without prose")
    for question, answer in written.examples:
        say(f"  {question} – {answer}")


def _reason(written: GenerationReport, draw: int | None) -> str:
    """Return why most questions were dropped, and what to do."""
    from oreqa.generation.filters import REASONS

    dropped = written.dropped
    reason = max(dropped, key=lambda each: dropped[each], default=None)
    why = REASONS[reason] if reason else "no passage has an answer to ask for"
    advice = "index more documents" if draw is None else f"draw more passages than --draw {draw}"
    return f"{why}; {advice}" + (
        ", or keep what the reader does not find with --round-trip 0" if "round_trip" in dropped else ""
    )
