"""``oreqa generate``: questions from documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oreqa.cli.application import app
from oreqa.cli.options import (
    DecodingOption,
    DeviceOption,
    GeneratorOption,
    JsonFlag,
    NewModelOption,
    PrecisionOption,
    SeedOption,
    WorkOption,
)
from oreqa.cli.output import counted, print_json, say
from oreqa.cli.progress import progress_bar
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_GENERATOR, DEFAULT_READER
from oreqa.errors import OreqaError

if TYPE_CHECKING:
    from oreqa.generation.generate import GenerationReport


@app.command()
def generate(
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File to write: pairs (.jsonl) or SQuAD (.json).")],
    generator: GeneratorOption = DEFAULT_GENERATOR,
    index: Annotated[Path | None, typer.Option("--index", help="Index of the documents.", show_default=False)] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Or a SQuAD or MRQA file, or a BEIR folder.", show_default=False),
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="Extractor of answers: a name or a folder.", show_default="rules alone")
    ] = None,
    entities: Annotated[
        str | None,
        typer.Option(help="Or spaCy pipeline whose entities are the answers, as en_core_web_sm.", show_default=False),
    ] = None,
    answers: Annotated[int, typer.Option(min=1, help="Answers to ask for in each passage.")] = 5,
    styles: Annotated[
        list[str] | None,
        typer.Option("--style", help="Kind of questions; repeat it for several, in turn.", show_default="all it learned"),
    ] = None,
    decoding: DecodingOption = "beam",
    round_trip: Annotated[
        float, typer.Option(min=0, max=1, help="Lowest F1 of the reader's answer to the question; 0 reads nothing.")
    ] = 0.8,
    reader: Annotated[
        str | None, typer.Option(help="Reader of the round trip: a name or a folder.", show_default=DEFAULT_READER)
    ] = None,
    min_probability: Annotated[
        float, typer.Option(min=0, max=1, help="Lowest probability of the classifier; 0 does without it.")
    ] = 0.0,
    classifier: Annotated[
        str | None, typer.Option(help="Classifier: a name or a folder.", show_default=DEFAULT_CLASSIFIER)
    ] = None,
    draw: Annotated[int | None, typer.Option("--draw", min=1, help="How many passages to draw.", show_default="all")] = None,
    seed: SeedOption = 0,
    work: WorkOption = None,
    model: NewModelOption = None,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make questions with answers from documents, as training data that people can read and edit.

    The generator writes a question about each likely answer span. A question is kept if the reader
    finds its answer again among all documents. An interrupted run resumes when it is started again.

    [bold]oreqa generate --index kb --out questions.jsonl[/bold]
    """
    from oreqa.generation import generate_questions
    from oreqa.generation.filters import REASONS

    written = generate_questions(
        out,
        index=index,
        data=data,
        generator=generator,
        extractor=extractor,
        entities=entities,
        answers=answers,
        styles=styles or None,
        decoding=decoding,
        round_trip=round_trip,
        reader=reader,
        min_probability=min_probability,
        classifier=classifier,
        draw=draw,
        seed=seed,
        work=work,
        model=model,
        device=device,
        progress=progress_bar,
    )
    if not written.questions:
        raise OreqaError(f"no question was kept, so {out} was not written: {_reason(written, draw)}")
    if as_json:
        print_json({**asdict(written), "out": str(written.out)})
        return
    counts = f"{counted(written.questions, 'question')} about {written.asked_passages:,} of {written.passages:,} passages"
    say(f"{counts} in {written.out}, {written.seconds:,.0f} s")
    rates = f"{written.passages_per_second:,.1f} passages, {written.candidates_per_second:,.1f} questions a second"
    say(f"  {written.candidates:,} were asked ({rates})")
    for reason, dropped in written.dropped.items():
        say(f"  {dropped:,} dropped: {REASONS[reason]}")
    if written.passed_over:
        say(f"  {counted(written.passed_over, 'other passage')} too short or without prose")
    for question, answer in written.examples:
        say(f"  {question} – {answer}")


def _reason(written: GenerationReport, draw: int | None) -> str:
    """Why most questions were dropped, and what to do."""
    from oreqa.generation.filters import REASONS

    dropped = written.dropped
    reason = max(dropped, key=lambda each: dropped[each], default=None)
    why = REASONS[reason] if reason else "no passage has an answer to ask for"
    advice = "index more documents" if draw is None else f"draw more passages than --draw {draw}"
    return f"{why}; {advice}" + (
        ", or keep what the reader does not find with --round-trip 0" if "round_trip" in dropped else ""
    )
